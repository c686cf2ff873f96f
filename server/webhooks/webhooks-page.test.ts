import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../database/connect.ts'
import type { Sql } from '../database/sql.ts'
import { CANCELLERS, WEBHOOK_EVENTS } from '../enums.ts'
import { testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import { exampleUrl, shownBlocks, webhooksPage } from '../test/webhooks-page.ts'

/** Compares docs/webhooks.md with the service and with the examples whose code it shows. */

describe('the code shown', () => {
  it.each([
    ['ts', 'verify-webhook.ts'],
    ['php', 'verify_webhook.php'],
    ['python', 'verify_webhook.py'],
  ])('the %s code in docs/webhooks.md is part of %s', (language, name) => {
    const [block, ...others] = shownBlocks(language)
    expect(others).toEqual([])
    expect(block).toMatch(/verify\(/)
    expect(readFileSync(exampleUrl(name), 'utf8')).toContain(block)
  })

  it('docs/webhooks.md links to existing examples', () => {
    const linked = [...webhooksPage.matchAll(/\]\(examples\/([^)]+)\)/g)].map(([, name]) => name!)
    expect(linked).toHaveLength(3)
    for (const name of linked) expect(readFileSync(exampleUrl(name), 'utf8')).toContain('verify(')
  })
})

describe('the payloads shown', () => {
  const payloads = shownBlocks('json')
    .map((block) => JSON.parse(block.replace('{"data"', '{"registered"')))
    .filter((payload) => 'event' in payload)
  const payloadOf = (event: string) => payloads.find((payload) => payload.event === event)

  it('docs/webhooks.md shows one payload of each event', () => {
    expect(payloads.map(({ event }) => event).toSorted()).toEqual(WEBHOOK_EVENTS.toSorted())
  })

  it('docs/webhooks.md lists each event in its table', () => {
    const listed = [...webhooksPage.matchAll(/^\| `([a-z_]+\.[a-z_]+)` +\|/gm)]
    expect(listed.map(([, event]) => event!).toSorted()).toEqual(WEBHOOK_EVENTS.toSorted())
  })

  it.each(WEBHOOK_EVENTS)(
    'the documented payload of %s has the four fields of every payload',
    (event) => {
      expect(payloadOf(event)).toEqual({
        event,
        delivery_id: expect.any(Number),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        data: expect.any(Object),
      })
    },
  )

  // §6.3
  it.each([
    [
      'order.created',
      [
        ...['order_id', 'slice_key', 'listing_id', 'quantity', 'price', 'currency', 'item_name'],
        ...['buyer_name', 'delivery_address'],
      ],
    ],
    ['listing.sold', ['listing_id', 'order_id', 'quantity_sold', 'remaining_quantity']],
    ['order.cancelled', ['order_id', 'cancelled_by']],
    ['order.label_ready', ['order_id', 'has_label', 'label_url', 'tracking_code']],
  ])('the documented payload of %s has exactly the fields of its data', (event, keys) => {
    expect(Object.keys(payloadOf(event).data)).toEqual(keys)
  })

  it('the documented payload of order.created has all fields of an address', () => {
    expect(Object.keys(payloadOf('order.created').data.delivery_address)).toEqual([
      ...['full_name', 'street', 'house_number', 'house_number_suffix'],
      ...['zip', 'city', 'country', 'phone'],
    ])
  })

  it('docs/webhooks.md names each party that can cancel an order', () => {
    const [, about] = webhooksPage.match(/^\*\*order\.cancelled\.\*\* (.*)$/m)!
    for (const canceller of CANCELLERS) expect(about).toContain(`\`${canceller}\``)
  })
})

it('the documented example signature matches its secret, timestamp and body', () => {
  const shown = (what: string) =>
    webhooksPage.match(new RegExp(`^\\| ${what} +\\| \`(.+)\` *\\|$`, 'm'))?.[1] ?? ''
  const signed = `${shown('Timestamp')}.${shown('Body')}`
  expect(createHmac('sha256', shown('Secret')).update(signed).digest('hex')).toBe(
    shown('Signature'),
  )
  expect(shown('Secret')).toMatch(/^svc_whsec_\w{40}$/)
  expect(JSON.parse(shown('Body'))).toMatchObject({ event: 'order.cancelled' })
})

describe('the documented table of handled deliveries', () => {
  const [table, transaction] = shownBlocks('sql')
  const [begin, insert, commit] = transaction!
    .split('\n')
    .filter((line) => line && !line.startsWith('--'))
  let watching: Sql
  const receivers: Sql[] = []
  beforeAll(async () => {
    const database = await testDatabase()
    watching = database.db
    await watching.unsafe(table!)
    // One connection each, so that statements of the two transactions can alternate.
    receivers.push(connect(database.url, { max: 1 }), connect(database.url, { max: 1 }))
  })
  afterAll(() => Promise.all(receivers.map((receiver) => receiver.end())))

  it('the documented SQL makes a concurrent repetition of a delivery wait, and then insert nothing', async () => {
    const [first, second] = receivers as [Sql, Sql]
    await first.unsafe(begin!)
    await second.unsafe(begin!)
    expect(await first.unsafe(insert!)).toHaveLength(1)
    const late = second.unsafe(insert!).execute()
    await until('the second transaction waits', async () => {
      const waiting = await watching`
        select from pg_locks
        where not granted and pid in (
          select pid from pg_stat_activity where datname = current_database()
        )
      `
      return waiting.length > 0
    })
    await first.unsafe(commit!)
    expect(await late).toHaveLength(0)
    await second.unsafe(commit!)
  })
})
