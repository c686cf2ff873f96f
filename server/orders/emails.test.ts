import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import { ADDRESS, LETTER, rowOf, SHIPS, shipsBy } from '../test/fixtures/orders.ts'
import { receiveLongShipped } from './transitions.ts'

const DAYS = 24 * 60 * 60

let market: TestApp
let seller: Seller
beforeAll(async () => {
  market = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await market.seller({
    account: { ...SHIPS, shopName: 'Kanto Cards', email: 'kanto@shops.example' },
  })
})

const BUYER = { name: 'Misty', email: 'misty@mail.example' }

/** Sells two listings to Misty and returns the ids of the order rows. */
async function buy(): Promise<[number, number]> {
  const [card, box] = await list(seller, cardItem({ price: 3.33 }), productItem())
  const { body } = await market.operator.post('/operator/v1/checkouts', {
    payload: {
      buyer: BUYER,
      lines: [
        { listing_id: card, quantity: 3 },
        { listing_id: box, quantity: 1 },
      ],
    },
  })
  return body.data.slices[0].order_ids
}

/** The e-mails that an action causes, oldest first. */
async function emailsOf(action: () => Promise<unknown>) {
  const mails = async () => (await market.operator.get('/operator/v1/sandbox/mail')).body
  const before = (await mails()).meta.total
  await action()
  const { data, meta } = await mails()
  return data.slice(0, meta.total - before).reverse()
}

const transition = (id: number, what: string, payload: object = {}) =>
  market.operator.post(`/operator/v1/orders/${id}/${what}`, { payload })
const ship = (id: number) => seller.post(`/v1/orders/${id}/ship`)

describe('e-mail about orders', () => {
  it('a checkout e-mails each seller once, with all that they sold, and the buyer with everything', async () => {
    const emails = await emailsOf(buy)
    expect(emails).toEqual([
      {
        to: 'kanto@shops.example',
        subject: 'Sold: 2 listings',
        text: expect.stringMatching(
          /^Hello Kanto Cards,\n\nMisty has bought .*- 3 × Charizard ex, 9\.99 EUR .*\n {2}Obsidian Flames 125 · NM · EN\n- Obsidian Flames Booster Box, 129\.99 EUR .*shipped: http\S+\/dashboard\/orders\/\d+$/s,
        ),
        created_at: expect.any(String),
      },
      {
        to: 'misty@mail.example',
        subject: 'Order confirmed: 141.18 EUR',
        text: expect.stringMatching(
          /From Kanto Cards:\n- 3 × Charizard ex, 9\.99 EUR .*\n- Obsidian .*, 129\.99 EUR .*\n- Letter, 1\.20 EUR\n\nTotal: 141\.18 EUR/s,
        ),
        created_at: expect.any(String),
      },
    ])
  })

  it('shipping an order e-mails the buyer once per shipped row', async () => {
    const [card, box] = await buy()
    expect((await emailsOf(() => ship(box))).map(summary)).toEqual([
      ['misty@mail.example', 'On its way: 3 × Charizard ex'],
      ['misty@mail.example', 'On its way: Obsidian Flames Booster Box'],
    ])
    expect(await emailsOf(() => ship(card))).toEqual([])

    const [cancelled, other] = await buy()
    await transition(cancelled, 'cancel', { cancelled_by: 'buyer' })
    expect((await emailsOf(() => ship(other))).map(summary)).toEqual([
      ['misty@mail.example', 'On its way: Obsidian Flames Booster Box'],
    ])
  })

  it('14 days after shipping, one e-mail tells the buyer which rows of a slice count as received', async () => {
    const [card, box] = await buy()
    await ship(card)
    await advance(market.operator, 14 * DAYS)
    const emails = await emailsOf(() => receiveLongShipped(market.ctx))
    const received = emails.filter(({ text }: { text: string }) => text.includes(`(order ${card})`))
    expect(received.map(summary)).toEqual([['misty@mail.example', 'Received: 2 items']])
    expect(received[0].text).toContain(`- Obsidian Flames Booster Box, 129.99 EUR (order ${box})`)
  })

  it('the names and codes of a seller, and the parts of the delivery address, stay on one line of an e-mail to the buyer', async () => {
    const line = 'Post\r\n\r\nPay customs:\u2028evil.example'
    const shop = await market.seller({
      account: shipsBy({ ...LETTER, tracked: true, name: line }),
    })
    const [card] = await list(shop, cardItem())
    const [confirmed, shipped] = (
      await emailsOf(async () => {
        const address = { ...ADDRESS, full_name: 'Misty\u2028Waterflower' }
        const payload = { buyer: BUYER, address, lines: [{ listing_id: card, quantity: 1 }] }
        const { body } = await market.operator.post('/operator/v1/checkouts', { payload })
        const [id] = body.data.slices[0].order_ids
        await shop.post(`/v1/orders/${id}/ship`, { payload: { tracking_code: line } })
      })
    ).filter(({ to }: { to: string }) => to === BUYER.email)
    expect(confirmed.text).toContain('\n- Post Pay customs: evil.example, 1.20 EUR\n')
    expect(confirmed.text).toMatch(/address\. .*:\n {2}Misty Waterflower\n {2}\S.*\n/)
    expect(shipped.text).toMatch(/\n\nTracking code: Post Pay customs: evil\.example$/)
  })

  it('the name of a buyer stays on one line of the e-mails to both sides', async () => {
    const buyer = { ...BUYER, name: 'Misty\r\n\r\nPay again:\u2028evil.example\u202e' }
    const [card] = await list(seller, cardItem())
    const payload = { buyer, lines: [{ listing_id: card, quantity: 1 }] }
    const emails = await emailsOf(() => market.operator.post('/operator/v1/checkouts', { payload }))
    expect(emails.map(({ text }: { text: string }) => text)).toEqual([
      expect.stringContaining('\n\nMisty Pay again: evil.example has bought from you:\n\n'),
      expect.stringMatching(/^Hello Misty Pay again: evil\.example,\n\n/),
    ])
  })

  it('each line of a text by the other side is quoted, so that none reads as the marketplace’s own', async () => {
    const [card] = await buy()
    await ship(card)
    const text = 'Bent.\r\n\r\nConfirm your bank account:\u2028evil.example'
    const quoted = '\n\n> Bent.\n>\n> Confirm your bank account:\n> evil.example\n\n'
    const emails = await emailsOf(async () => {
      await transition(card, 'dispute', { message: text })
      const url = `/tools/v1/orders/${card}/dispute/answer`
      await seller.post(url, { payload: { message: text } })
      await transition(card, 'resolve', { in_favour_of: 'seller' })
      await transition(card, 'review', { stars: 1, text })
    })
    const withText = emails.filter((mail: { text: string }) => mail.text.includes('evil'))
    expect(withText.map(summary)).toEqual([
      ['kanto@shops.example', 'Disputed: 3 × Charizard ex'],
      ['misty@mail.example', 'Answer to your dispute: 3 × Charizard ex'],
      ['kanto@shops.example', 'Your answer: 3 × Charizard ex'],
      ['kanto@shops.example', 'New review: 1 of 5 stars'],
    ])
    for (const email of withText) expect(email.text).toContain(quoted)
  })

  it('a cancellation e-mails both sides, and the buyer’s e-mail names the refund', async () => {
    const [card] = await buy()
    const emails = await emailsOf(() => transition(card, 'cancel', { cancelled_by: 'seller' }))
    expect(emails.map(summary)).toEqual([
      ['misty@mail.example', 'Cancelled: 3 × Charizard ex'],
      ['kanto@shops.example', 'Cancelled: 3 × Charizard ex'],
    ])
    expect(emails[0].text).toContain('You will be refunded 9.99 EUR.')
  })

  it.each([
    [
      'says that the units are in the stock again',
      {},
      / The units are in your stock again\.\n\nThe page of the order: \S+$/,
    ],
    [
      'claims no stock without restock',
      { restock: false },
      /\n\nMisty will be refunded 9\.99 EUR\.\n\nThe page of the order: \S+$/,
    ],
  ])('the e-mail to the seller about a cancellation %s', async (_, more, end) => {
    const [card] = await buy()
    const emails = await emailsOf(() =>
      transition(card, 'cancel', { cancelled_by: 'admin', ...more }),
    )
    expect(emails[1].text).toMatch(end)
  })

  it('the e-mails about a cancellation announce no refund of a price that was refunded before', async () => {
    const [card] = await buy()
    await transition(card, 'refund', { amount: 9.99, reason: 'Late' })
    const payload = { cancelled_by: 'admin', restock: false }
    const emails = await emailsOf(() => transition(card, 'cancel', payload))
    expect(emails.map(({ text }: { text: string }) => text.split('\n\n').at(2))).toEqual([
      'The price is already refunded.',
      'The price is already refunded.',
    ])
  })

  it.each([
    ['seller', 'in the seller’s favour', 'in your favour'],
    ['buyer', 'in your favour', 'in the buyer’s favour'],
  ])(
    'a dispute e-mails the seller, and its resolution for the %s e-mails both sides',
    async (winner, buyer, shop) => {
      const [card] = await buy()
      await ship(card)
      expect((await emailsOf(() => transition(card, 'dispute'))).map(summary)).toEqual([
        ['kanto@shops.example', 'Disputed: 3 × Charizard ex'],
      ])
      const emails = await emailsOf(() => transition(card, 'resolve', { in_favour_of: winner }))
      expect(emails.map(({ to }: { to: string }) => to)).toEqual([
        'misty@mail.example',
        'kanto@shops.example',
      ])
      expect(emails[0].text).toContain(buyer)
      expect(emails[1].text).toContain(shop)
    },
  )

  it('e-mails to the seller about a buyer whose data was erased speak of the buyer', async () => {
    const { operator } = market
    const textsOf = async (action: () => Promise<unknown>) => {
      const emails: { text: string }[] = await emailsOf(action)
      return emails.map(({ text }) => text.split('\n\n').at(1))
    }
    const [card, box] = await buy()
    await ship(card)
    for (const id of [card, box]) await transition(id, 'receive')
    await operator.post('/operator/v1/buyers/erase', { payload: { email: BUYER.email } })

    expect(await textsOf(() => transition(card, 'review', { stars: 4 }))).toEqual([
      `The buyer has given you 4 of 5 stars for order ${card}.`,
    ])
    const refund = { amount: 1, reason: 'Bent' }
    expect(await textsOf(() => transition(card, 'refund', refund))).toEqual([
      expect.stringMatching(/^The buyer will be refunded 1\.00 EUR for /),
    ])
    expect(await textsOf(() => transition(card, 'dispute'))).toEqual([
      expect.stringMatching(/^The buyer has reported a problem with /),
    ])
    const answer = { payload: { message: 'It was fine.' } }
    const url = `/tools/v1/orders/${card}/dispute/answer`
    expect(await textsOf(() => seller.post(url, answer))).toEqual([
      expect.stringMatching(/^We have received your answer to .* the buyer gets no e-mail:$/),
    ])
    const resolved: { text: string }[] = await emailsOf(() =>
      transition(card, 'resolve', { refund: 1 }),
    )
    expect(resolved[0]!.text).toContain('\n\nThe buyer will be refunded 1.00 EUR.')
    await transition(box, 'dispute')
    expect(await textsOf(() => transition(box, 'cancel', { cancelled_by: 'buyer' }))).toEqual([
      expect.stringMatching(/^The buyer’s order of /),
    ])
  })

  it('each e-mail to a seller has the link to the page of the dashboard that it is about', async () => {
    const { operator } = market
    const [card, box] = await buy()
    const { listing_id } = await rowOf(seller, box)
    const emails: { to: string; subject: string; text: string }[] = await emailsOf(async () => {
      await transition(card, 'cancel', { cancelled_by: 'admin' })
      await ship(box)
      await transition(box, 'refund', { amount: 1, reason: 'Bent' })
      await transition(box, 'dispute')
      const answer = { payload: { message: 'It was fine.' } }
      await seller.post(`/tools/v1/orders/${box}/dispute/answer`, answer)
      await transition(box, 'resolve', { in_favour_of: 'seller' })
      await transition(box, 'dispute')
      await transition(box, 'resolve', { refund: 2 })
      await transition(box, 'dispute')
      await transition(box, 'resolve', { in_favour_of: 'buyer' })
      const payload = { reason: 'A counterfeit' }
      await operator.post(`/operator/v1/listings/${listing_id}/take-down`, { payload })
      const account = `/operator/v1/accounts/${seller.accountId}`
      for (const seller_tier of ['Gold', 'Bronze']) {
        await operator.patch(account, { payload: { seller_tier } })
      }
    })
    const dashboard = `${market.ctx.config.publicUrl}/dashboard`
    const toSeller = emails.filter(({ to }) => to === 'kanto@shops.example')
    expect(
      toSeller.map(({ subject, text }) => [subject.split(':')[0], text.split(dashboard)[1]]),
    ).toEqual([
      ['Cancelled', `/orders/${card}`],
      ...[
        'Refund of 1.00 EUR',
        'Disputed',
        'Your answer',
        'Resolved',
        'Disputed',
        'Resolved',
        'Disputed',
        'Resolved',
      ].map((subject) => [subject, `/orders/${box}`]),
      ['Your listing was removed', '/listings'],
      ['Your seller tier is now Gold', ''],
      ['Your seller tier is now Bronze', ''],
    ])
  })

  it('a refused transition sends no e-mail', async () => {
    const [card] = await buy()
    expect(await emailsOf(() => transition(card, 'receive'))).toEqual([])
    expect(await emailsOf(() => transition(card, 'dispute'))).toEqual([])
  })
})

const summary = ({ to, subject }: { to: string; subject: string }) => [to, subject]
