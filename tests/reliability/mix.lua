-- What `wrk` sends: of each hundred requests so many writes (WRITES), the rest point reads, with a
-- token (TOKEN) where there is one. Counts and percentiles come out as one line of JSON.
local writes = tonumber(os.getenv("WRITES") or "20")
local twins = tonumber(os.getenv("TWINS") or "1000")
local token = os.getenv("TOKEN") or ""
local headers = {["Content-Type"] = "application/json"}
if token ~= "" then headers["Authorization"] = "Bearer " .. token end
local body = '{"$metadata":{"$model":"dtmi:com:example:Counter;1"},"value":%d}'

function init(args) math.randomseed(os.time()) end

function request()
  local path = "/digitaltwins/t" .. math.random(0, twins - 1)
  if math.random(1, 100) <= writes then
    return wrk.format("PUT", path, headers, string.format(body, math.random(1, 1000000)))
  end
  return wrk.format("GET", path, headers)
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"errors":%d,"p50":%f,"p99":%f,"worst":%f}\n',
    summary.requests, summary.duration / 1e6,
    failed.connect + failed.read + failed.write + failed.status + failed.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
