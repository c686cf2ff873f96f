import { describe, expect, it } from 'vitest'
import { isAddress, mailbox } from '../text/mailbox.ts'
import { DAYS, MINUTES } from '../time/units.ts'
import { delayAfter, delayOfServer, messageId, oneLine } from './mail.ts'

describe('a subject', () => {
  it.each([
    ['Sold: Glurak\r\nBcc: all@shops.example', 'Sold: Glurak Bcc: all@shops.example'],
    ['\nSold\u2028today\0\t', 'Sold today'],
    ['Sold to Misty\u202e, 12.50\u2066', 'Sold to Misty , 12.50'],
    ['リザードン　ex', 'リザードン　ex'],
    ['Ä'.repeat(200), 'Ä'.repeat(200)],
    ['🂡'.repeat(201), `${'🂡'.repeat(199)}…`],
  ])('a subject becomes one line of at most 200 characters: %j', (text, line) => {
    expect(oneLine(text)).toBe(line)
  })
})

describe('an address', () => {
  it.each(['a@b.example', 'jürgen+cards@müller.example', 'a@localhost'])(
    'an address is valid: %s',
    (text) => {
      expect(isAddress(text)).toBe(true)
    },
  )

  it.each([
    '',
    'a',
    '@b.example',
    'a@b@c.example',
    'a@b.example, c@d.example',
    'a@b.example,c@d.example',
    'a@b.example\r\nRCPT TO:<c@d.example>',
    'a@b.example\n',
    'A <a@b.example>',
    'a\u0001@b.example',
  ])('an address is refused unless it is exactly one recipient: %j', (text) => {
    expect(isAddress(text)).toBe(false)
  })

  it('the sender’s mailbox may have a display name', () => {
    expect(mailbox('shop@cards.example')).toEqual({ name: '', address: 'shop@cards.example' })
    for (const text of ['Card Shop <shop@cards.example>', '"Card Shop" <shop@cards.example>']) {
      expect(mailbox(text)).toEqual({ name: 'Card Shop', address: 'shop@cards.example' })
    }
    for (const text of ['Card Shop', 'A\nB <shop@cards.example>', 'A <b> <shop@cards.example>']) {
      expect(mailbox(text)).toBeUndefined()
    }
  })
})

it('an e-mail has five attempts, with delays of 1 minute, 10 minutes, 1 hour and 6 hours', () => {
  const minutes = [1, 2, 3, 4, 5].map((attempts) => (delayAfter(attempts) ?? Number.NaN) / 60_000)
  expect(minutes).toEqual([1, 10, 60, 360, Number.NaN])
})

it.each([
  ['shop@cards.example', 'cards.example'],
  ['shop@Cards.example', 'Cards.example'],
  ['shop@müller.example', 'xn--mller-kva.example'],
])('the Message-ID of %s is the row’s id, its timestamp and the domain %s', (address, domain) => {
  const from = { name: 'Card Shop', address }
  const createdAt = new Date('2026-03-01T09:30:00.123Z')
  expect(messageId({ id: 7, createdAt }, from)).toBe(`<7.1772357400123@${domain}>`)
})

it('an e-mail that the server prevents is attempted at intervals that grow with its age, for four days', () => {
  const minutes = [0, 1, 3, 20, 61, 2_000].map((age) => delayOfServer(age * MINUTES)! / MINUTES)
  expect(minutes).toEqual([1, 1, 1.5, 10, 30, 30])
  expect(delayOfServer(4 * DAYS - 1)).toBe(30 * MINUTES)
  expect(delayOfServer(4 * DAYS)).toBeUndefined()
})
