// Every operation of the vendor's SDK for JavaScript against a service: node plays.cjs SDK URL STEM.
// It prints one JSON document: what failed, what was never played, and the requests that were sent.
// It runs in a folder with the packages of package.json; STEM keeps its ids apart from others'.
"use strict";

const assert = require("node:assert/strict");
const { createRequire } = require("node:module");
const path = require("node:path");

const [, , sdk, url, stem] = process.argv;
const find = createRequire(path.join(process.cwd(), "here.js"));
const { DigitalTwinsClient } = find(sdk);

const requests = [];
const credential = {
  getToken: async () => ({ token: "a-token", expiresOnTimestamp: Date.now() + 3_600_000 }),
};
const client = new DigitalTwinsClient(url, credential, { retryOptions: { maxRetries: 0 } });
const reached = spy(client.client);

// --- what there is -------------------------------------------------------------------------------

function listMethods(thing) {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(thing));
  return own.filter((name) => name !== "constructor" && typeof thing[name] === "function");
}

/** The operations that are called, as `group.method`, and each request as it goes out. */
function spy(generated) {
  const called = new Set();
  for (const group of ["digitalTwinModels", "digitalTwins", "query", "eventRoutes"]) {
    for (const name of listMethods(generated[group])) {
      const method = generated[group][name].bind(generated[group]);
      generated[group][name] = (...given) => {
        called.add(`${group}.${name}`);
        return method(...given);
      };
    }
  }
  const send = generated._httpClient.sendRequest.bind(generated._httpClient);
  generated._httpClient.sendRequest = (request) => {
    requests.push({
      method: request.method,
      target: request.url.slice(url.length),
      headers: request.headers.toJson(),
    });
    return send(request);
  };
  return called;
}

async function collect(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/** All items, asked for a page of `size` at a time; there must be more than one page. */
async function collectPages(items, size) {
  const found = [];
  let pages = 0;
  for await (const page of items.byPage({ maxPageSize: size })) {
    found.push(...(page.value ?? page));
    pages += 1;
  }
  assert.ok(pages > 1, `${pages} page`);
  return found;
}

async function refuse(promise, status, code) {
  const error = await promise.then(
    () => assert.fail("nothing was refused"),
    (reason) => reason,
  );
  assert.equal(error.statusCode, status, error.message);
  assert.equal((error.details?.error ?? error.response.parsedBody?.error)?.code, code);
}

// --- a world -------------------------------------------------------------------------------------

const id = (name) => `dtmi:com:js:${stem}:${name};1`;
const context = "dtmi:dtdl:context;2";
const models = [
  {
    "@context": context,
    "@id": id("Room"),
    "@type": "Interface",
    displayName: "Room",
    contents: [
      { "@type": "Property", name: "temperature", schema: "double" },
      { "@type": "Property", name: "name", schema: "string" },
      { "@type": "Component", name: "climate", schema: id("Climate") },
      {
        "@type": "Relationship",
        name: "has",
        properties: [{ "@type": "Property", name: "since", schema: "double" }],
      },
    ],
  },
  {
    "@context": context,
    "@id": id("Climate"),
    "@type": "Interface",
    contents: [{ "@type": "Property", name: "mode", schema: "string" }],
  },
  { "@context": context, "@id": id("Alone"), "@type": "Interface" },
];
const twin = (name) => `${stem} ${name}/ü`;
const room = (more) => ({ $metadata: { $model: id("Room") }, climate: { $metadata: {} }, ...more });
const replace = (where, value) => [{ op: "add", path: where, value }];
const put = (name, more) => client.upsertDigitalTwin(twin(name), JSON.stringify(room(more)));
const onePerPage = { requestOptions: { customHeaders: { "max-items-per-page": "1" } } };
const relate = (name, target, source = "a") =>
  client.upsertRelationship(twin(source), name, {
    $relationshipName: "has",
    $targetId: twin(target),
    since: 1e19,
  });

/** The payload and id of telemetry. Both SDKs take one for the other on their way (`swaps`). */
const order = (swaps, payload) => (swaps ? ["an-id", payload] : [payload, "an-id"]);

// --- the plays, in this order --------------------------------------------------------------------

const plays = {
  async createModels() {
    const made = await client.createModels(models);
    assert.deepEqual([...made].map((each) => each.id), models.map((each) => each["@id"]));
    await refuse(client.createModels(models), 409, "ModelIdAlreadyExists");
  },
  async getModel() {
    const found = await client.getModel(id("Room"), true);
    assert.deepEqual(found.model, models[0]);
    assert.equal((await client.getModel(id("Room"))).model, undefined);
    await refuse(client.getModel(id("Nothing")), 404, "ModelNotFound");
  },
  async listModels() {
    const ids = models.map((each) => each["@id"]).sort();
    const mine = (found) => found.map((each) => each.id).filter((each) => ids.includes(each)).sort();
    assert.deepEqual(mine(await collect(client.listModels())), ids);
    const all = await collect(client.listModels([], true));
    assert.deepEqual(mine(all), ids);
    assert.deepEqual(all.find((each) => each.id === id("Room")).model, models[0]);
    assert.deepEqual(mine(await collectPages(client.listModels([], true), 2)), ids);
    const one = [id("Room"), id("Climate")].sort();
    assert.deepEqual((await collect(client.listModels([id("Room")]))).map((x) => x.id).sort(), one);
    const two = client.listModels([id("Room"), id("Alone")], true);
    assert.deepEqual((await collect(two)).map((each) => each.id).sort(), ids);
    const paged = client.listModels([id("Room"), id("Alone")], true);
    assert.deepEqual((await collectPages(paged, 1)).map((each) => each.id).sort(), ids);
  },
  async upsertDigitalTwin() {
    const made = await put("a", { temperature: 1e19, name: "ä" });
    assert.equal(made.body.$dtId, twin("a"));
    assert.equal(made.body.temperature, 1e19);
    await put("b");
    await put("c");
    const again = client.upsertDigitalTwin(twin("a"), JSON.stringify(room()), { ifNoneMatch: "*" });
    await refuse(again, 412, "PreconditionFailed");
  },
  async getDigitalTwin() {
    const found = await client.getDigitalTwin(twin("a"));
    assert.equal(found.etag, found.body.$etag);
    assert.equal(found.body.name, "ä");
    await refuse(client.getDigitalTwin(twin("nobody")), 404, "DigitalTwinNotFound");
  },
  async updateDigitalTwin() {
    const { etag } = await client.getDigitalTwin(twin("a"));
    const change = replace("/temperature", 12345678901234567890);
    const changed = await client.updateDigitalTwin(twin("a"), change, { ifMatch: etag });
    assert.notEqual(changed.etag, etag);
    const stale = client.updateDigitalTwin(twin("a"), change, { ifMatch: etag });
    await refuse(stale, 412, "PreconditionFailed");
    const found = await client.getDigitalTwin(twin("a"));
    assert.equal(found.body.temperature, 12345678901234567890);
  },
  async getComponent() {
    const found = await client.getComponent(twin("a"), "climate");
    assert.ok(found.body.$metadata);
    await refuse(client.getComponent(twin("a"), "nothing"), 404, "ComponentNotFound");
  },
  async updateComponent() {
    await client.updateComponent(twin("a"), "climate", replace("/mode", "on"));
    assert.equal((await client.getComponent(twin("a"), "climate")).body.mode, "on");
  },
  async upsertRelationship() {
    await relate("r1", "b");
    const made = await relate("r2", "c");
    assert.equal(made.body.$relationshipId, "r2");
    await relate("r3", "b", "c");
  },
  async getRelationship() {
    const found = await client.getRelationship(twin("a"), "r1");
    assert.equal(found.body.$targetId, twin("b"));
    assert.equal(found.body.since, 1e19);
    await refuse(client.getRelationship(twin("a"), "r0"), 404, "RelationshipNotFound");
  },
  async updateRelationship() {
    await client.updateRelationship(twin("a"), "r1", replace("/since", 2));
    assert.equal((await client.getRelationship(twin("a"), "r1")).body.since, 2);
  },
  async listRelationships() {
    const found = await collect(client.listRelationships(twin("a")));
    assert.deepEqual(found.map((each) => each.$relationshipId).sort(), ["r1", "r2"]);
    const paged = await collect(client.listRelationships(twin("a"), onePerPage));
    assert.deepEqual(paged.map((each) => each.$relationshipId).sort(), ["r1", "r2"]);
    const named = client.listRelationships(twin("a"), { ...onePerPage, relationshipName: "has" });
    assert.equal((await collect(named)).length, 2);
  },
  async listIncomingRelationships() {
    const found = await collect(client.listIncomingRelationships(twin("b"), onePerPage));
    assert.deepEqual(found.map((each) => each.sourceId).sort(), [twin("a"), twin("c")]);
    assert.ok(found.every((each) => each.relationshipLink.startsWith(url)));
  },
  async publishTelemetry() {
    const given = order(sdk === "sdk-1.0.3", { reading: 1 });
    await client.publishTelemetry(twin("a"), ...given);
    const nobody = client.publishTelemetry(twin("nobody"), ...given);
    await refuse(nobody, 404, "DigitalTwinNotFound");
  },
  async publishComponentTelemetry() {
    const given = order(true, { reading: 1 });
    await client.publishComponentTelemetry(twin("a"), "climate", ...given);
    const nothing = client.publishComponentTelemetry(twin("a"), "nothing", ...given);
    await refuse(nothing, 404, "ComponentNotFound");
  },
  async queryTwins() {
    const text = `SELECT * FROM DIGITALTWINS WHERE IS_OF_MODEL('${id("Room")}')`;
    const ids = ["a", "b", "c"].map(twin);
    const found = await collect(client.queryTwins(text));
    assert.deepEqual(found.map((each) => each.$dtId).sort(), ids);
    const paged = await collect(client.queryTwins(text, 1));
    assert.deepEqual(paged.map((each) => each.$dtId).sort(), ids);
    await refuse(collect(client.queryTwins("SELECT")), 400, "SqlQueryError");
  },
  async upsertEventRoute() {
    await client.upsertEventRoute(`${stem}-1`, "lines", "false");
    await client.upsertEventRoute(`${stem}-2`, "lines", "false");
  },
  async getEventRoute() {
    const found = await client.getEventRoute(`${stem}-1`);
    assert.deepEqual([found.endpointName, found.filter], ["lines", "false"]);
  },
  async listEventRoutes() {
    const mine = (found) => found.map((each) => each.id).filter((each) => each.startsWith(stem));
    assert.equal(mine(await collect(client.listEventRoutes())).length, 2);
    assert.equal(mine(await collectPages(client.listEventRoutes(), 1)).length, 2);
  },
  async deleteEventRoute() {
    await client.deleteEventRoute(`${stem}-1`);
    await client.deleteEventRoute(`${stem}-2`);
    await refuse(client.getEventRoute(`${stem}-1`), 404, "EventRouteNotFound");
  },
  async deleteRelationship() {
    const { etag } = await client.getRelationship(twin("a"), "r1");
    await client.deleteRelationship(twin("a"), "r1", { ifMatch: etag });
    await client.deleteRelationship(twin("a"), "r2", { ifMatch: "*" });
    await client.deleteRelationship(twin("c"), "r3");
  },
  async deleteDigitalTwin() {
    await client.deleteDigitalTwin(twin("a"), { ifMatch: "*" });
    await client.deleteDigitalTwin(twin("b"));
    await client.deleteDigitalTwin(twin("c"));
    await refuse(client.getDigitalTwin(twin("a")), 404, "DigitalTwinNotFound");
  },
  async decomissionModel() {
    await client.decomissionModel(id("Room"));
    assert.equal((await client.getModel(id("Room"))).decommissioned, true);
  },
  async deleteModel() {
    await refuse(client.deleteModel(id("Climate")), 409, "ModelReferencesNotDeleted");
    for (const model of models) await client.deleteModel(model["@id"]);
  },
};

// --- the run -------------------------------------------------------------------------------------

/** The operations of the client, without the generators behind its listings. */
function listOperations() {
  return listMethods(client).filter((name) => !/(Page|All)$/.test(name));
}

/** The operations of the generated client. Each list has one more for its next pages. */
function listGenerated() {
  const groups = ["digitalTwinModels", "digitalTwins", "query", "eventRoutes"];
  const { client: fresh } = new DigitalTwinsClient(url, credential);
  return groups.flatMap((group) => listMethods(fresh[group]).map((name) => `${group}.${name}`));
}

async function main() {
  const failed = {};
  for (const [name, play] of Object.entries(plays)) {
    try {
      await play();
    } catch (error) {
      failed[name] = String(error.stack ?? error);
    }
  }
  const operations = listOperations();
  const missed = [
    ...operations.filter((name) => !(name in plays)),
    ...listGenerated().filter((name) => !reached.has(name)),
  ];
  console.log(JSON.stringify({ operations, failed, missed, requests }));
}

main();
