// Everyday calls of the official JavaScript driver: node everyday.js tcp|web PORT. Run over an empty graph.

const assert = require('node:assert/strict')

const [, , way, port] = process.argv
const neo4j = require(way === 'web' ? 'neo4j-driver/lib/browser/neo4j-web.js' : 'neo4j-driver')
const uri = `bolt://127.0.0.1:${port}`
const driver = neo4j.driver(uri, undefined, { disableLosslessIntegers: true, telemetryDisabled: true })

async function within (options, run) {
  const session = driver.session(options)
  try {
    return await run(session)
  } finally {
    await session.close()
  }
}

async function writeAndRead () {
  const { summary } = await driver.executeQuery(
    "CREATE (:Room {`$dtId`: 'a', seats: 4, since: $since})-[:nextTo {w: 1}]->(:Room {`$dtId`: 'b'})",
    { since: new neo4j.types.Date(2024, 2, 29) }
  )
  assert.equal(summary.counters.updates().nodesCreated, 2)
  const { records } = await driver.executeQuery("MATCH p = (r:Room)-[n:nextTo]->() RETURN r, n, p")
  const [room, next, path] = records[0].values()
  assert.equal(room.elementId, 'a')
  assert.deepEqual(room.labels[0], 'Room')
  assert.equal(room.properties.seats, 4)
  assert.ok(neo4j.isDate(room.properties.since))
  assert.equal(next.type, 'nextTo')
  assert.equal(next.endNodeElementId, 'b')
  assert.equal(path.length, 1)
  assert.equal(path.segments[0].end.elementId, 'b')
}

async function plans () {
  const explained = (await driver.executeQuery('EXPLAIN MATCH (r:Room) RETURN r')).summary
  assert.ok(explained.plan.operatorType)
  const { profile } = (await driver.executeQuery('PROFILE MATCH (r:Room) RETURN r')).summary
  assert.equal(profile.rows, 2)
  assert.equal(explained.profile, false)
}

async function values () {
  const { types } = neo4j
  const sent = [
    null, true, -17, 2 ** 40, 0.5, 'räum \u{1f3e0}', 'x'.repeat(70000), [1, ['x']], { a: { b: [true] } },
    new types.Date(2024, 2, 29), new types.LocalTime(12, 30, 15, 7), new types.Time(12, 30, 15, 7, -3600),
    new types.LocalDateTime(2024, 2, 29, 1, 2, 3, 4), new types.DateTime(2024, 2, 29, 1, 2, 3, 4, 7200),
    new types.DateTime(2024, 7, 1, 1, 2, 3, 4, 7200, 'Europe/Berlin'), new types.Duration(1, 2, 3, 4)
  ]
  const { records } = await driver.executeQuery('RETURN $sent AS found', { sent })
  const found = records[0].get('found')
  sent.forEach((one, at) => {
    if (one !== null && typeof one === 'object' && one.toStandardDate !== undefined) {
      assert.equal(found[at].toString(), one.toString())
    } else {
      assert.deepEqual(JSON.parse(JSON.stringify(found[at])), JSON.parse(JSON.stringify(one)))
    }
  })
}

async function streamed () {
  await within({ fetchSize: 300 }, async session => {
    let sum = 0
    for await (const record of session.run('UNWIND range(1, 2500) AS i RETURN i')) sum += record.get('i')
    assert.equal(sum, 2500 * 2501 / 2)
  })
}

async function managed () {
  await driver.executeQuery('CREATE (:Counter {n: 0})')
  let runs = 0
  const add = async transaction => {
    runs += 1
    const n = (await transaction.run('MATCH (c:Counter) RETURN c.n')).records[0].get(0)
    if (runs === 1) await driver.executeQuery('MATCH (c:Counter) SET c.n = 10') // so that it is run again
    await transaction.run('MATCH (c:Counter) SET c.n = $n', { n: n + 1 })
  }
  await within({}, session => session.executeWrite(add))
  assert.ok(runs > 1)
  const read = transaction => transaction.run('MATCH (c:Counter) RETURN c.n AS n')
  await within({}, async session => assert.equal((await session.executeRead(read)).records[0].get('n'), 11))
  await within({}, async session => {
    const open = session.beginTransaction()
    await open.run('CREATE (:Gone)')
    await open.rollback()
    assert.equal((await session.run('MATCH (g:Gone) RETURN g')).records.length, 0)
  })
}

async function errors () {
  const failing = [
    ['RETURN 1 +', 'Neo.ClientError.Statement.SyntaxError'],
    ['RETURN 1 / 0', 'Neo.ClientError.Statement.ArithmeticError'],
    ['RETURN $missing', 'Neo.ClientError.Statement.ParameterMissing']
  ]
  for (const [text, code] of failing) {
    await within({}, session => assert.rejects(session.run(text), error => error.code === code && !error.retriable))
  }
}

async function main () {
  const info = await driver.getServerInfo()
  assert.match(info.agent, /^Neo4j\//)
  for (const one of [writeAndRead, plans, values, streamed, managed, errors]) await one()
  await driver.close()
}

main().then(() => console.log('done'), error => {
  console.error(error)
  process.exit(1)
})
