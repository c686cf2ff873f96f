import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from './test/app.ts'
import { importCatalogFixture } from './test/catalog-fixture.ts'
import { advance, cardItem, list, NO_LIMITS } from './test/fixtures/listings.ts'
import { act, cancel, LABEL, sendCart, ship, shipsBy } from './test/fixtures/orders.ts'
import { samplesOf, sampleValue } from './test/metrics.ts'
import { until } from './test/until.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
})

const page = async () => (await app.operator.get('/metrics')).text

/** The increase of a sample during `work`. */
async function growth(sample: string, work: () => Promise<unknown>): Promise<number> {
  const before = sampleValue(await page(), sample)!
  await work()
  return sampleValue(await page(), sample)! - before
}

/** The metrics page with figures newly read from the database. */
const freshPage = (source: Pick<TestApp['ctx'], 'db' | 'now' | 'config'> = app.ctx) => {
  const metrics = createMetrics({ directories: ['/'], maxAgeMs: 0 })
  return metrics.text(source).finally(() => metrics.close())
}

/** A page with the figures of the queues: one is without them if the database takes more than two seconds. */
const queuesPage = () =>
  until('the queues are read', async () => {
    const text = await freshPage()
    return text.includes('\ncardstall_queue_items{') && text
  })

describe('GET /metrics', () => {
  it('GET /metrics requires the operator token', async () => {
    expect((await app.anyone.get('/metrics')).status).toBe(401)
    expect((await app.withKey(OPERATOR_TOKEN).get('/metrics')).status).toBe(200)
  })

  it('docs/operating.md has a row for each cardstall_ metric, with its labels, and no other', async () => {
    await app.anyone.get('/v1/me')
    const text = await page()
    const operating = await readFile(new URL('../docs/operating.md', import.meta.url), 'utf8')
    const documented = [...operating.matchAll(/^\| `(cardstall_\w+)` *\|([^|]*)\|/gm)].map(
      ([, name, labels]) => [name, [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label)],
    )
    const names = [...text.matchAll(/^# TYPE (cardstall_\w+)/gm)].map(([, name]) => name!)
    const shown = names.map((name) => [name, samplesOf(text, name)])
    expect(documented.map(([name]) => name)).toEqual(names.toSorted())
    for (const [name, labels] of documented) {
      const samples = shown.find(([shownName]) => shownName === name)![1] as Labels[]
      for (const sample of samples) {
        const own = Object.keys(sample).filter((label) => label !== 'le')
        expect([name, own.toSorted()]).toEqual([name, (labels as string[]).toSorted()])
      }
    }
  })

  it('counters with known labels start at 0, so that their first increase is visible', async () => {
    const other = await startTestApp()
    const { text } = await other.operator.get('/metrics')
    const counters = ['mail_attempts', 'photo_attempts', 'label_purchases', 'order_rows']
    for (const name of [...counters, 'files_not_stored']) {
      const lines = text.match(new RegExp(`^cardstall_${name}_total\\{.*`, 'gm'))!
      expect(lines.length).toBeGreaterThan(1)
      for (const line of lines) expect(line).toMatch(/ 0$/)
    }
  })
})

type Labels = Record<string, string>

describe('order metrics', () => {
  it('changes of orders are counted once per order row, and not before their commit', async () => {
    await importCatalogFixture(app.operator)
    const seller = await app.seller({ account: shipsBy(LABEL) })
    const listings = await list(seller, ...Array.from({ length: 4 }, () => cardItem()))
    let ids: number[] = []
    const rows = (change: string) => `cardstall_order_rows_total{change="${change}"}`
    const key = { 'idempotency-key': 'once' }
    const checkout = async () => {
      const lines = listings.map((id): [number, number] => [id, 1])
      ids = (await sendCart(app, lines, {}, key)).body.data.slices[0].order_ids
    }
    expect(await growth(rows('created'), checkout)).toBe(4)
    expect(await growth(rows('created'), checkout)).toBe(0)
    expect(await growth(rows('cancelled'), () => cancel(app, ids[0]!))).toBe(1)
    const purchased = 'cardstall_label_purchases_total{outcome="ready"}'
    const buyLabel = () => seller.post(`/v1/orders/${ids[1]}/label`)
    expect(await growth(purchased, buyLabel)).toBe(1)
    expect(await growth(purchased, buyLabel)).toBe(0)
    expect(await growth(rows('shipped'), () => ship(seller, ids[1]!))).toBe(3)
    expect(await growth(rows('shipped'), () => ship(seller, ids[1]!))).toBe(0)
    // Without its entry in the audit log, a change is rolled back after its verb has ended.
    const { db } = app.ctx
    await db`alter table audit_entries add constraint refuses check (false) not valid`
    expect(await growth(rows('received'), () => act(app, ids[1]!, 'receive'))).toBe(0)
    const other = { 'idempotency-key': 'other' }
    const buy = () => sendCart(app, [[listings[0]!, 1]], {}, other)
    expect(await growth(rows('created'), buy)).toBe(0)
    await db`alter table audit_entries drop constraint refuses`
    expect(await growth(rows('created'), buy)).toBe(1)
    expect(await growth(rows('received'), () => act(app, ids[1]!, 'receive'))).toBe(1)
    expect(await growth(rows('disputed'), () => act(app, ids[2]!, 'dispute'))).toBe(1)
  })
})

describe('queue metrics', () => {
  it('a queue reports its length and the age of its oldest due item', async () => {
    await app.runMail()
    for (const seconds of [-90, 3600]) {
      const due = new Date(app.ctx.now().getTime() + seconds * 1000)
      await app.ctx.db`
        insert into mails (recipient, subject, text, created_at, next_attempt_at)
        values ('misty@mail.example', 'S', 'T', ${due}, ${due})
      `
    }
    const text = await queuesPage()
    expect(sampleValue(text, 'cardstall_queue_items{queue="mails"}')).toBe(2)
    const age = sampleValue(text, 'cardstall_queue_oldest_due_seconds{queue="mails"}')
    expect(age).toBeGreaterThanOrEqual(90)
    expect(age).toBeLessThan(3600)
    const sent = 'cardstall_mail_attempts_total{outcome="captured"}'
    await advance(app.operator, 3600)
    expect(await growth(sent, () => app.runMail())).toBe(2)
    const after = await queuesPage()
    expect(sampleValue(after, 'cardstall_queue_items{queue="mails"}')).toBe(0)
    expect(sampleValue(after, 'cardstall_queue_oldest_due_seconds{queue="mails"}')).toBe(0)
    for (const queue of ['photos', 'shipments', 'deliveries']) {
      expect(sampleValue(after, `cardstall_queue_items{queue="${queue}"}`)).toBeDefined()
    }
  })
})

it('the queue of shipments counts those of the configured carrier, because no others are polled', async () => {
  await importCatalogFixture(app.operator)
  const seller = await app.seller({ account: shipsBy(LABEL) })
  const [id] = await list(seller, cardItem())
  const [slice] = (await sendCart(app, [[id!, 1]])).body.data.slices
  await seller.post(`/v1/orders/${slice.order_ids[0]}/label`)
  const due = new Date(app.ctx.now().getTime() - 90_000)
  const itemsOf = async (provider: string) => {
    await app.ctx.db`update shipments set poll_at = ${due}, provider = ${provider}`
    const page = await freshPage()
    const age = sampleValue(page, 'cardstall_queue_oldest_due_seconds{queue="shipments"}')!
    return [sampleValue(page, 'cardstall_queue_items{queue="shipments"}')! > 0, age >= 90]
  }
  expect(await itemsOf('simulated')).toEqual([true, true])
  expect(await itemsOf('former')).toEqual([false, false])
})

describe('database metrics', () => {
  /** A fake database that counts queries; they settle when the test settles `result`. */
  const slowDatabase = () => {
    const result = Promise.withResolvers<never>()
    const queries: number[] = []
    const db = (() => {
      queries.push(1)
      return result.promise
    }) as never
    return { source: { ...app.ctx, db, now: () => new Date(0) }, queries, result }
  }

  it('while the database is down, /metrics works without database figures', async () => {
    const { source, result } = slowDatabase()
    result.reject(new Error('away'))
    const text = await freshPage(source)
    expect(sampleValue(text, 'cardstall_database_up')).toBe(0)
    expect(text).not.toMatch(/^cardstall_(queue_items|database_size_bytes|webhook_del\w+)[ {]/m)
    expect(text).toContain('process_cpu_seconds_total')
  })

  it('while the database hangs, /metrics works without database figures', async () => {
    const { source } = slowDatabase()
    const text = await freshPage(source)
    expect(sampleValue(text, 'cardstall_database_up')).toBe(0)
  })

  it('figures that cannot be read do not keep those of the database from being read again', async () => {
    const results = [
      async () => [{ state: 'idle', count: 1, size: 1 }],
      // The queues.
      () => new Promise(() => {}),
      () => Promise.reject(new Error('away')),
    ]
    const db = (() => results.shift()!()) as never
    const metrics = createMetrics({ directories: ['/'], maxAgeMs: 0 })
    const isUp = async () =>
      sampleValue(await metrics.text({ ...app.ctx, db }), 'cardstall_database_up')
    expect([await isUp(), await isUp()]).toEqual([1, 0])
    metrics.close()
  })

  it('database figures are read once for concurrent requests and reused for a while', async () => {
    const { source, queries, result } = slowDatabase()
    const metrics = createMetrics({ directories: ['/'], maxAgeMs: 3_600_000 })
    const pages = Array.from({ length: 10 }, () => metrics.text(source))
    result.reject(new Error('away'))
    await Promise.all(pages)
    await metrics.text(source)
    // One query for the connections, one for the queues.
    expect(queries).toHaveLength(2)
    metrics.close()
  })
})

it('the disk of the stored files is watched, even if DATA_DIR does not exist', async () => {
  const { dataDir } = app.ctx.config
  const { operator } = await startTestApp({
    settings: {
      DATA_DIR: path.join(dataDir, 'missing'),
      STORAGE_URL: pathToFileURL(path.join(dataDir, 'elsewhere')).href,
    },
  })
  const { text } = await operator.get('/metrics')
  expect(sampleValue(text, 'cardstall_disk_free_bytes')).toBeGreaterThan(0)
  expect(sampleValue(text, 'cardstall_disk_size_bytes')).toBeGreaterThan(0)
})

it('nodejs_eventloop_lag_p99_seconds, which an alert rule uses, is that of the slowest process', async () => {
  const LAG = 'nodejs_eventloop_lag_p99_seconds'
  expect(
    await readFile(new URL('../deploy/prometheus/alerts.yml', import.meta.url), 'utf8'),
  ).toContain(`expr: ${LAG} >`)
  const metrics = createMetrics({
    directories: ['/'],
    others: async (own) => [
      own.map((metric) =>
        metric.name === LAG ? { ...metric, values: [{ value: 60, labels: {} }] } : metric,
      ),
    ],
  })
  const text = await metrics.text(app.ctx)
  metrics.close()
  expect(sampleValue(text, LAG)).toBe(60)
})

describe('Redis', () => {
  it('cardstall_redis_up is 0 and a lost connection is counted while Redis is unreachable', async () => {
    const settings = { REDIS_URL: 'redis://127.0.0.1:1' }
    const { operator } = await startTestApp({ settings })
    const text = await until('the connection was refused', async () => {
      const { text } = await operator.get('/metrics')
      return sampleValue(text, 'cardstall_redis_connections_lost_total')! > 0 && text
    })
    expect(sampleValue(text, 'cardstall_redis_up')).toBe(0)
  })

  it('cardstall_redis_up has no sample without REDIS_URL', async () => {
    expect(sampleValue(await page(), 'cardstall_redis_up')).toBeUndefined()
  })
})

describe('import metrics', () => {
  it('a catalog import is counted with its records', async () => {
    const record = (result: string) => `cardstall_catalog_import_records_total{result="${result}"}`
    const send = () =>
      app.operator.post('/operator/v1/catalog/import', {
        headers: { 'content-type': 'application/x-ndjson' },
        payload: '{"type":"series","name":"Counted","shortcut":null}\nnonsense',
      })
    expect(await growth(record('created'), send)).toBe(1)
    expect(await growth(record('unchanged'), send)).toBe(1)
    expect(await growth(record('rejected'), send)).toBe(1)
    expect(await growth('cardstall_catalog_imports_total{outcome="complete"}', send)).toBe(1)
  })
})
