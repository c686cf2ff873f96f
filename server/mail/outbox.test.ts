import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { type MailServer, startMailServer } from '../test/fakes/mail-server.ts'
import { advance } from '../test/fixtures/listings.ts'
import { insertSlice } from '../test/fixtures/orders.ts'
import { until } from '../test/until.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { deliverMail } from './deliver-mail.ts'
import type { ClaimedMail, Handled } from './mail.ts'
import { startMailWorker } from './mail-worker.ts'
import { openMailer } from './mailer.ts'
import { claimMails, pruneMails, recordSuccesses, sendMail } from './outbox.ts'

const PASSWORD = 'hush/hush@1%'
const MAIL = { to: 'kanto@shops.example', subject: 'Sold', text: 'Your Pikachu was bought.\n' }

type Done = (error?: Error | null) => void

/** How the mail server responds. Reset before each test. */
const server = {
  login: (_done: Done) => {},
  sender: (_done: Done) => {},
  recipient: (_done: Done, _to: string) => {},
  end: (_done: Done) => {},
}
const accept = (done: Done) => done()
const refuse = (responseCode: number, text: string) => (done: Done) =>
  done(Object.assign(new Error(text), { responseCode }))

let mailServer: MailServer
let app: TestApp
beforeAll(async () => {
  mailServer = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, callback) => {
      const done: Done = (error) => callback(error, error ? undefined : { user: username })
      if (username === 'shop' && password === PASSWORD) server.login(done)
      else done(Object.assign(new Error(`no ${password}`), { responseCode: 535 }))
    },
    onMailFrom: (_address, _session, done) => server.sender(done),
    onRcptTo: ({ address }, _session, done) => server.recipient(done, address),
    onData: (_stream, _session, done) => server.end(done),
  })
  app = await startTestApp({ settings: settingsFor(mailServer) })
})

beforeEach(async () => {
  Object.assign(server, { login: accept, sender: accept, recipient: accept, end: accept })
  mailServer.received.length = 0
  app.logged.length = 0
  await app.ctx.db`truncate mails`
})

const settingsFor = ({ port }: { port: number }, password = PASSWORD) => ({
  SMTP_URL: `smtp://shop:${encodeURIComponent(password)}@127.0.0.1:${port}`,
  MAIL_FROM: 'Kärtchen <mail@cards.example>',
})

const row = async (of = app) => {
  const [mail] = await of.ctx.db`select * from mails order by id desc limit 1`
  return mail
}
const notStopping = new AbortController().signal

const claimMail = async () => (await claimMails(app.ctx, 1))[0]

describe('an e-mail', () => {
  it('the worker sends an e-mail from MAIL_FROM, as plain text', async () => {
    await sendMail(app.ctx, MAIL)
    expect(mailServer.received).toEqual([])
    await app.runMail()
    const { id, created_at, ...mail } = (await row())!
    expect(mail).toMatchObject({
      status: 'sent',
      attempts: 1,
      error: null,
      sent_at: expect.any(Date),
    })
    const [arrived, ...others] = mailServer.received
    expect(others).toEqual([])
    expect(arrived).toMatchObject({
      from: 'mail@cards.example',
      to: ['kanto@shops.example'],
      text: MAIL.text,
      user: 'shop',
    })
    expect(arrived!.headers).toEqual({
      from: 'Kärtchen <mail@cards.example>',
      to: 'kanto@shops.example',
      subject: 'Sold',
      date: created_at.toUTCString().replace('GMT', '+0000'),
      'message-id': `<${id}.${created_at.getTime()}@cards.example>`,
      'auto-submitted': 'auto-generated',
      'mime-version': '1.0',
      'content-type': expect.stringMatching(/^text\/plain; charset=utf-8/),
      'content-transfer-encoding': expect.any(String),
    })
  })

  it('an e-mail is sent if its transaction is committed, and does not exist if it is rolled back', async () => {
    const writing = inTransaction(app.ctx, async (tx) => {
      await sendMail(tx, MAIL)
      await app.runMail()
      throw new Error('no')
    })
    await expect(writing).rejects.toThrow('no')
    await app.runMail()
    expect(mailServer.received).toEqual([])
    expect(await row()).toBeUndefined()

    await inTransaction(app.ctx, (tx) => sendMail(tx, MAIL))
    await app.runMail()
    expect(mailServer.received).toHaveLength(1)
  })

  it('an e-mail is sent once, although its success cannot be recorded at first', async () => {
    const { db } = app.ctx
    await sendMail(app.ctx, MAIL)
    await db`alter table mails add constraint refuses check (status <> 'sent') not valid`
    const run = app.runMail()
    await until('recording has failed', () =>
      app.logged.some(({ message }) => message === 'cannot record an e-mail; retrying'),
    )
    await db`alter table mails drop constraint refuses`
    await run
    expect(await row()).toMatchObject({ status: 'sent', attempts: 1, leased_until: null })
    expect(mailServer.received).toHaveLength(1)
  })

  it('umlauts, Japanese and long lines arrive unchanged', async () => {
    const subject = `Verkauft: Glurak & リザードンex – ${'Größe '.repeat(20)}🂡`
    const text = `Schöne Grüße\n\n.\n..\n From here\nリザードン ${'lang '.repeat(300)}!\n`
    await sendMail(app.ctx, { ...MAIL, subject, text })
    await app.runMail()
    expect(mailServer.received[0]!.headers.subject).toBe(subject)
    expect(mailServer.received[0]!.text).toBe(text)
  })

  it('line breaks in a subject cannot add a header or a recipient', async () => {
    await sendMail(app.ctx, { ...MAIL, subject: 'Sold\r\nBcc: all@shops.example\r\n\r\nBuy!' })
    await app.runMail()
    const [{ to, headers, text }] = mailServer.received as [MailServer['received'][0]]
    expect(to).toEqual(['kanto@shops.example'])
    expect(headers.subject).toBe('Sold Bcc: all@shops.example Buy!')
    expect(headers).not.toHaveProperty('bcc')
    expect(text).toBe(MAIL.text)
  })

  it('the recipient’s address is used literally, not parsed as a group or list', async () => {
    await sendMail(app.ctx, { ...MAIL, to: 'all:kanto@shops.example' })
    await app.runMail()
    expect(mailServer.received).toMatchObject([{ to: ['"all:kanto"@shops.example'] }])
  })

  it.each([
    'kanto@shops.example\r\nBcc: all@shops.example',
    'kanto@shops.example, johto@shops.example',
    'nobody',
  ])('an e-mail to an invalid address fails without contacting the mail server: %j', async (to) => {
    await sendMail(app.ctx, { ...MAIL, to })
    await app.runMail()
    expect(mailServer.received).toEqual([])
    expect(await row()).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: 'The recipient is not a valid e-mail address.',
    })
  })

  it('a failing e-mail is retried after 1 minute, 10 minutes, 1 hour and 6 hours, then fails permanently', async () => {
    server.recipient = refuse(451, 'try later')
    await sendMail(app.ctx, MAIL)
    const attemptsSeen = []
    for (const minutes of [1, 10, 60, 360]) {
      await app.runMail()
      const { status, attempts, error, next_attempt_at: next } = (await row())!
      expect({ status, error }).toEqual({
        status: 'waiting',
        error: 'The mail server refused the recipient: 451 try later',
      })
      expect((next.getTime() - app.ctx.now().getTime()) / 60_000).toBeCloseTo(minutes, 0)
      attemptsSeen.push(attempts)
      await advance(app.operator, minutes * 60 - 20)
      await app.runMail()
      expect(await row()).toMatchObject({ attempts })
      await advance(app.operator, 20)
    }
    expect(attemptsSeen).toEqual([1, 2, 3, 4])
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'failed', attempts: 5, next_attempt_at: null })
    expect(app.logged.at(-1)).toMatchObject({
      level: 'warn',
      message: 'an e-mail failed permanently',
    })
  })

  it('an e-mail is sent by the next attempt after the mail server has recovered', async () => {
    server.recipient = refuse(451, 'try later')
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'waiting', attempts: 1 })
    server.recipient = accept
    await advance(app.operator, 60)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 2, error: null })
  })

  it.each([
    ['the recipient', { recipient: refuse(550, 'no such user') }, '550 no such user'],
    ['an unknown recipient', { recipient: refuse(550, '5.1.1 unknown') }, '550 5.1.1 unknown'],
    ['the e-mail', { end: refuse(554, '5.6.0 looks like spam') }, '554 5.6.0 looks like spam'],
  ])(
    'an e-mail fails at once when the server permanently refuses %s',
    async (_, refusal, reply) => {
      Object.assign(server, refusal)
      await sendMail(app.ctx, MAIL)
      await app.runMail()
      expect(await row()).toMatchObject({
        status: 'failed',
        attempts: 1,
        error: expect.stringMatching(new RegExp(`^The mail server refused the .*: ${reply}$`)),
      })
      // The server's reply can name the recipient, so only its code is logged.
      const logged = app.logged.at(-1)!
      expect(logged.reason).toMatch(/^The mail server refused the (recipient|e-mail) \(55\d\)\.$/)
      expect(JSON.stringify(logged)).not.toContain(reply)
    },
  )

  it.each([
    ['the sender', 'sender', 550, 'not you', 'the sender: 550 not you'],
    ['the login', 'login', 535, 'wrong', 'the login (535).'],
    ['more logins', 'login', 454, '4.7.0 Too many login attempts', 'the login (454).'],
    ['a rate in response to the sender', 'sender', 450, 'slow down', 'the sender: 450 slow down'],
    [
      'a rate in response to the recipient',
      'recipient',
      450,
      '4.7.1 Error: too much mail from 192.0.2.1',
      'the recipient: 450 4.7.1 Error: too much mail from 192.0.2.1',
    ],
    [
      'a rate in response to the e-mail',
      'end',
      454,
      'Throttling failure: Maximum sending rate exceeded',
      'the e-mail: 454 Throttling failure: Maximum sending rate exceeded',
    ],
    [
      'the recipient of a sender without permission',
      'recipient',
      554,
      '5.7.1 <kanto@shops.example>: Relay access denied',
      'the sender: 554 5.7.1 <kanto@shops.example>: Relay access denied',
    ],
    [
      'the recipient of a sender whose domain is unknown',
      'recipient',
      550,
      '5.1.8 Sender address rejected: Domain not found',
      'the sender: 550 5.1.8 Sender address rejected: Domain not found',
    ],
    [
      'the e-mail of a sender without permission',
      'end',
      550,
      '5.7.60 Client does not have permissions to send as this sender',
      'the sender: 550 5.7.60 Client does not have permissions to send as this sender',
    ],
    [
      'the e-mail of a sender who is not allowed to send, at Microsoft',
      'end',
      554,
      '5.2.252 SendAsDenied; shop@cards.example not allowed to send as mail@cards.example',
      'the sender: 554 5.2.252 SendAsDenied; shop@cards.example not allowed to send as mail@cards.example',
    ],
    [
      'the e-mail of a sender whose quota is used up',
      'end',
      550,
      '5.4.5 Daily user sending limit exceeded',
      'the sender: 550 5.4.5 Daily user sending limit exceeded',
    ],
  ] as const)(
    'an e-mail is kept for four days when the server refuses %s',
    async (_, step, code, text, refused) => {
      server[step] = refuse(code, text)
      await sendMail(app.ctx, MAIL)
      for (let attempt = 1; attempt <= 7; attempt++) {
        await app.runMail()
        expect(await row()).toMatchObject({
          status: 'waiting',
          attempts: 0,
          error: `The mail server refused ${refused}`,
        })
        await advance(app.operator, 14 * 3_600 - 60)
      }
      server[step] = accept
      await app.runMail()
      expect(await row()).toMatchObject({ status: 'sent', attempts: 1, error: null })
    },
  )

  it.each([
    // SendGrid, Amazon SES, a limit of Exim, and a quota
    ['end', 550, 'The from address does not match a verified Sender Identity.'],
    ['end', 554, 'Message rejected: Email address is not verified.'],
    ['end', 554, 'Message rejected: Sending paused for this account.'],
    ['recipient', 550, 'Domain cards.example has exceeded the max emails per hour (150/150).'],
    ['recipient', 550, 'relay not permitted'],
    ['end', 550, 'Daily sending quota exceeded'],
  ] as const)(
    'a refusal without a code whose text is about the sender counts as one of the sender, at the %s: %i %s',
    async (step, code, text) => {
      server[step] = refuse(code, text)
      await sendMail(app.ctx, MAIL)
      await app.runMail()
      expect(await row()).toMatchObject({
        status: 'waiting',
        attempts: 0,
        error: `The mail server refused the sender: ${code} ${text}`,
      })
    },
  )

  it('an e-mail is attempted five times when the server refuses it without a code, for a reason that the service does not know', async () => {
    server.end = refuse(554, 'looks like spam')
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(await row()).toMatchObject({
      status: 'waiting',
      attempts: 1,
      error: 'The mail server refused the e-mail: 554 looks like spam',
    })
  })

  it.each([
    ['recipient', 550, 'no account of this name'],
    ['recipient', 552, 'mailbox quota exceeded'],
    ['recipient', 550, '5.1.1 the sender is fine, the recipient unknown'],
  ] as const)(
    'a permanent refusal of the recipient is not taken for one of the sender, at the %s: %i %s',
    async (step, code, text) => {
      server[step] = refuse(code, text)
      await sendMail(app.ctx, MAIL)
      await app.runMail()
      expect(await row()).toMatchObject({ status: 'failed', attempts: 1 })
    },
  )

  it('the attempts at an e-mail that is four days old count, whatever the server refuses', async () => {
    server.login = refuse(535, 'wrong')
    await sendMail(app.ctx, MAIL)
    await advance(app.operator, 4 * 86_400)
    for (const minutes of [1, 10, 60, 360]) {
      await app.runMail()
      expect(await row()).toMatchObject({ status: 'waiting' })
      await advance(app.operator, minutes * 60)
    }
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'failed', attempts: 5 })
  })

  it('a stored error quotes at most 200 characters of the server’s reply', async () => {
    server.recipient = refuse(550, 'no '.repeat(200))
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect((await row())!.error.length).toBeLessThan(250)
  })
})

describe('the secret of an e-mail', () => {
  const text = (link: string) => `Choose it here: ${link}\n`
  const secret = 'https://cards.example/password/reset?token=hush'

  it.each([
    ['the mail server has accepted it', async () => {}],
    [
      'the mail server has refused it permanently',
      async () => {
        server.recipient = refuse(550, 'no such user')
      },
    ],
    [
      'its last attempt was interrupted',
      () => app.ctx.db`
        update mails set attempts = 5, leased_until = clock_timestamp() - interval '1 second'
      `,
    ],
  ])('an e-mail contains its secret, which the outbox deletes once %s', async (_, prepare) => {
    server.recipient = refuse(450, 'later')
    const config = { ...app.ctx.config, sandbox: false }
    await whileReplaced(app.ctx, { config }, async () => {
      await sendMail(app.ctx, { ...MAIL, text: text(secret), secret })
      await app.runMail()
      expect(await row()).toMatchObject({ status: 'waiting', text: text(secret), secret })

      server.recipient = accept
      await prepare()
      await advance(app.operator, 60)
      await app.runMail()
    })
    const { status, ...stored } = (await row())!
    expect(stored).toMatchObject({ text: text('…'), secret: null })
    expect(mailServer.received.map((mail) => mail.text)).toEqual(
      status === 'sent' ? [text(secret)] : [],
    )
  })

  it('the sandbox keeps the secret of an e-mail that was sent for its list of captured e-mails', async () => {
    await sendMail(app.ctx, { ...MAIL, text: text(secret), secret })
    await app.runMail()
    const textIn = async (path: string) =>
      (await app.operator.get(`/operator/v1/${path}`)).body.data[0].text
    expect(await textIn('sandbox/mail')).toBe(text(secret))
    expect(await textIn('mails')).toBe(text('…'))
  })
})

describe('an e-mail to a buyer whose data is erased', () => {
  const BUYER = 'misty@buyers.example'
  const CANNOT_DELIVER = `5.1.1 <${BUYER}>: Recipient address rejected`
  const erase = () =>
    app.operator.post('/operator/v1/buyers/erase', { payload: { email: BUYER.toUpperCase() } })
  const erased = { status: 'failed', recipient: '', text: '', secret: null }

  it.each([
    ['permanently', 550],
    ['for now', 450],
  ])(
    'an e-mail that the server refused %s before the erasure keeps only the code, and is not sent again',
    async (_, code) => {
      server.recipient = refuse(code, CANNOT_DELIVER)
      await sendMail(app.ctx, { ...MAIL, to: BUYER, secret: 'Pikachu' })
      await app.runMail()
      expect((await row())!.error).toContain(BUYER)
      expect((await erase()).body.data.mails).toBe(1)
      expect(await row()).toMatchObject({
        ...erased,
        error: `The mail server refused the recipient: ${code} 5.1.1`,
      })
      server.recipient = accept
      await advance(app.operator, 60)
      await app.runMail()
      expect(mailServer.received).toEqual([])
    },
  )

  it('an e-mail that the server refuses after the erasure stores and logs no address, and is not sent again', async () => {
    server.recipient = refuse(450, CANNOT_DELIVER)
    await sendMail(app.ctx, { ...MAIL, to: BUYER, secret: 'Pikachu' })
    await erase()
    await app.runMail()
    expect(await row()).toMatchObject({
      ...erased,
      attempts: 1,
      error: 'The mail server refused the recipient: 450 5.1.1',
    })
    const failed = app.logged.find(({ reason }) => reason)
    expect(failed).toMatchObject({ message: 'an e-mail failed permanently' })
    expect(JSON.stringify(app.logged)).not.toContain(BUYER)
  })

  it('an e-mail that waits for its first attempt during the erasure is sent, and then blanked', async () => {
    await sendMail(app.ctx, { ...MAIL, to: BUYER, secret: 'Pikachu' })
    await erase()
    await app.runMail()
    expect(mailServer.received).toHaveLength(1)
    expect(await row()).toMatchObject({ ...erased, status: 'sent', error: null })
  })
})

describe('the password of the mail server', () => {
  it('the password of the mail server reaches no log and no row, even when the server repeats it', async () => {
    const wrong = await startTestApp({ settings: settingsFor(mailServer, 'hush/other') })
    await sendMail(wrong.ctx, MAIL)
    await wrong.runMail()
    const output = JSON.stringify([wrong.logged, await row(wrong)], (_, value) =>
      value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
    )
    expect(output).toContain('refused the login')
    expect(output).not.toMatch(/hush|other/)
  })
})

describe('a mail server', () => {
  it('an e-mail is retried when the server drops the connection, which counts only after the server has received it', async () => {
    const dropped = await startMailServer({
      onConnect: () => dropped.hangUp(),
      onData: () => dropped.hangUp(),
    })
    const plain = await startTestApp({
      settings: { ...settingsFor(dropped), SMTP_URL: dropped.url },
    })
    await sendMail(plain.ctx, MAIL)
    await plain.runMail()
    expect(await row(plain)).toMatchObject({
      status: 'waiting',
      attempts: 0,
      error: expect.stringMatching(/^The connection to the mail server failed/),
    })
    server.end = () => mailServer.hangUp()
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(mailServer.received).toHaveLength(1)
    expect(await row()).toMatchObject({
      status: 'waiting',
      attempts: 1,
      error: expect.stringMatching(/^The connection to the mail server failed/),
    })
  })

  it('an e-mail is retried when the server refuses the connection', async () => {
    const closed = await startTestApp({ settings: settingsFor({ port: 1 }) })
    await sendMail(closed.ctx, MAIL)
    await closed.runMail()
    expect(await row(closed)).toMatchObject({
      status: 'waiting',
      attempts: 0,
      error: 'The connection to the mail server failed (ECONNREFUSED).',
    })
  })

  it.each([421, 554])(
    'an e-mail is retried when the server greets with %d, and only the code is stored and logged',
    async (code) => {
      const refusing = await startMailServer({
        onConnect: (_session, done) => refuse(code, 'no words of mine')(done),
      })
      const refused = await startTestApp({ settings: settingsFor(refusing) })
      await sendMail(refused.ctx, MAIL)
      await refused.runMail()
      const error = `The mail server refused the connection (${code}).`
      expect(await row(refused)).toMatchObject({ status: 'waiting', attempts: 0, error })
      expect(refused.logged.at(-1)).toMatchObject({ reason: error })
      expect(JSON.stringify([refused.logged, await row(refused)])).not.toContain('words')
    },
  )

  it.each([
    ['does not greet, and does not count', 'onConnect', 0],
    ['receives the e-mail and does not reply, and counts', 'onData', 1],
  ])('an attempt times out when the server %s', async (_, silence, attempts) => {
    const silent = await startMailServer({ [silence]: () => {} })
    const waiting = await startTestApp({
      settings: { ...settingsFor(silent), SMTP_URL: silent.url },
    })
    await sendMail(waiting.ctx, MAIL)
    const began = performance.now()
    await waiting.runMail({ timeoutMs: 300 })
    expect(performance.now() - began).toBeGreaterThanOrEqual(290)
    expect(await row(waiting)).toMatchObject({
      status: 'waiting',
      attempts,
      error: 'The mail server did not respond in time.',
    })
    silent.hangUp()
  })

  it('an e-mail is sent once to a server that accepts it later than a connection may take', async () => {
    const timeoutMs = 1_000
    server.end = (done) => void setTimeout(done, 1.5 * timeoutMs)
    await sendMail(app.ctx, MAIL)
    await app.runMail({ timeoutMs })
    expect(await row()).toMatchObject({ status: 'sent', attempts: 1 })
    expect(mailServer.received).toHaveLength(1)
  })

  it('an attempt times out when the server sends an endless reply', async () => {
    let timer: NodeJS.Timeout | undefined
    const endless = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('220 hello\r\n')
      timer = setInterval(() => socket.write('250-and\r\n'), 20)
    })
    await once(endless.listen(0, '127.0.0.1'), 'listening')
    try {
      const { port } = endless.address() as AddressInfo
      const waiting = await startTestApp({ settings: settingsFor({ port }) })
      await sendMail(waiting.ctx, MAIL)
      await waiting.runMail({ timeoutMs: 200 })
      expect(await row(waiting)).toMatchObject({
        status: 'waiting',
        error: 'The mail server did not respond in time.',
      })
    } finally {
      clearInterval(timer)
      endless.close()
    }
  })

  it('nothing is sent to a mail server without encryption if SMTP_URL requires encryption', async () => {
    const open = await startMailServer()
    const SMTP_URL = `${open.url}?requireTLS=true`
    const careful = await startTestApp({ settings: { ...settingsFor(open), SMTP_URL } })
    await sendMail(careful.ctx, MAIL)
    await careful.runMail()
    expect(open.received).toEqual([])
    expect(await row(careful)).toMatchObject({
      status: 'waiting',
      error: 'The encrypted connection to the mail server failed.',
    })
  })

  it('no login is sent to the mail server if SMTP_URL has none', async () => {
    const open = await startMailServer()
    const plain = await startTestApp({ settings: { ...settingsFor(open), SMTP_URL: open.url } })
    await sendMail(plain.ctx, MAIL)
    await plain.runMail()
    expect(open.received).toMatchObject([{ to: [MAIL.to], user: undefined }])
  })
})

describe('many e-mails', () => {
  const sendTo = (recipients: string[]) =>
    Promise.all(recipients.map((to) => sendMail(app.ctx, { ...MAIL, to })))
  const numbered = (count: number, domain: string) =>
    Array.from({ length: count }, (_, number) => `${number}@${domain}`)
  const statuses = async () =>
    (await app.ctx.db`select status from mails`).map(({ status }) => status)

  it('a mail server that refuses all e-mails gets few attempts at once, and no e-mail uses up one', async () => {
    let attempts = 0
    server.end = (done) => {
      attempts++
      refuse(451, '4.7.1 Rate limit exceeded')(done)
    }
    await sendTo(numbered(20, 'shops.example'))
    await app.runMail()
    // Each of three connections can take a further e-mail until all have been refused.
    expect(attempts).toBeLessThanOrEqual(5)
    const mails = await app.ctx.db`select distinct status, attempts from mails`
    expect(mails).toEqual([{ status: 'waiting', attempts: 0 }])
  })

  it('a process that finds no free connection leaves the e-mails to the other one', async () => {
    let connections = 0
    const limited = await startMailServer({
      onConnect: (_session, done) => (++connections > 3 ? refuse(421, 'too many')(done) : done()),
      onClose: () => void connections--,
      onData: (_stream, _session, done) => void setTimeout(done, 20),
    })
    const settings = { ...settingsFor(limited), SMTP_URL: limited.url }
    const processes = await Promise.all(
      [1, 2].map(() => startTestApp({ databaseUrl: app.databaseUrl, settings })),
    )
    await sendTo(numbered(100, 'shops.example'))
    const workers = processes.map(({ ctx }) => startMailWorker(ctx))
    try {
      await until('no e-mail is due', async () => {
        const [due] = await app.ctx.db`
          select from mails where status = 'waiting' and next_attempt_at <= ${app.ctx.now()}
        `
        return due === undefined
      })
      const refused = (await statuses()).filter((status) => status !== 'sent')
      expect(refused.length).toBeLessThan(20)
      await until('all e-mails are sent', async () => {
        // An e-mail may find no free connection again.
        await advance(app.operator, 60)
        return (await statuses()).every((status) => status === 'sent')
      })
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()))
    }
    expect(limited.received).toHaveLength(100)
  })

  it.each([
    ['defers', 450, '4.7.1 Greylisted'],
    ['refuses as those of a filter', 550, '5.7.1 Blocked'],
  ])('e-mails to recipients that the server %s do not delay the others', async (_, code, text) => {
    const [refused, others] = [numbered(20, 'slow.example'), numbered(5, 'shops.example')]
    server.recipient = (done, to) =>
      to.endsWith('@slow.example') ? refuse(code, text)(done) : done()
    await sendTo([...refused, ...others])
    await app.runMail()
    const sent = await app.ctx.db`select recipient from mails where status = 'sent'`
    expect(sent).toHaveLength(others.length)
  })

  /** Opens a shop. The returned function sends e-mails about one of its orders. */
  const openShop = async () => {
    const { accountId } = await app.seller()
    const { sliceId } = await insertSlice(app.ctx.db, accountId)
    return async (recipients: string[]) => {
      for (const to of recipients) await sendMail(app.ctx, { ...MAIL, to }, { sliceId })
    }
  }

  it('e-mails that a person waits for are sent first, and then shops take turns', async () => {
    const [large, small] = [await openShop(), await openShop()]
    const { promise: threeArrived, resolve } = Promise.withResolvers<void>()
    server.end = (done) => {
      if (mailServer.received.length === 3) resolve()
      threeArrived.then(() => done())
    }
    await large(numbered(5, 'large.example'))
    await small(['buyer@small.example'])
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    const [first, second, third, ...others] = mailServer.received.map(({ to }) => to[0]!)
    expect([first, second, third].toSorted()).toEqual([
      '0@large.example',
      'buyer@small.example',
      MAIL.to,
    ])
    expect(others).toHaveLength(4)
  })

  it('recipients that the server never answers for delay no other e-mail, and are asked for once per attempt', async () => {
    const [unlucky, other] = [await openShop(), await openShop()]
    const silent = numbered(3, 'silent.example')
    const asked: string[] = []
    server.recipient = (done, to) => {
      if (to.endsWith('@silent.example')) asked.push(to)
      else done()
    }
    // The connections are open when the server becomes silent.
    await sendTo(numbered(9, 'shops.example'))
    await unlucky(silent)
    await app.runMail({ timeoutMs: 300, slowMs: 300 })
    expect(asked.toSorted()).toEqual(silent)
    const waiting = () =>
      app.ctx.db`
        select distinct attempts, error, is_slow as "isSlow" from mails where status = 'waiting'
      `
    const failed = { attempts: 1, error: 'The mail server did not respond in time.', isSlow: true }
    expect(await waiting()).toEqual([failed])

    // A failure of the server says nothing about the recipient.
    await advance(app.operator, 60)
    server.login = refuse(454, '4.7.0 try later')
    await app.runMail()
    expect(await waiting()).toMatchObject([
      { error: 'The mail server refused the login (454).', isSlow: true },
    ])
    server.login = accept

    asked.length = 0
    await advance(app.operator, 60)
    await unlucky(numbered(3, 'unlucky.example'))
    await other(numbered(3, 'other.example'))
    const worker = startMailWorker(app.ctx, { graceMs: 0 })
    try {
      await until('the others are sent', () => mailServer.received.length === 15)
      await until('a repeat is under way', () => asked.length > 0)
    } finally {
      await worker.stop()
    }
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['a shop', openShop],
    ['no shop', async () => sendTo],
  ])(
    'first attempts of %s that the server does not answer leave a connection to other shops',
    async (_, open) => {
      const [unlucky, other] = [await open(), await openShop()]
      server.recipient = (done, to) => {
        if (!to.endsWith('@silent.example')) done()
      }
      await sendTo(['kanto@shops.example'])
      await unlucky(numbered(6, 'silent.example'))
      await other(numbered(3, 'other.example'))
      const worker = startMailWorker(app.ctx, { graceMs: 0 })
      try {
        await until('the others are sent', () => mailServer.received.length === 4)
      } finally {
        await worker.stop()
      }
    },
  )

  it('after an outage, a mail worker sends the e-mails without a signal', async () => {
    server.login = refuse(454, '4.7.0 try later')
    const worker = startMailWorker(app.ctx, { pollIntervalMs: 50 })
    try {
      await sendTo(numbered(8, 'shops.example'))
      await until('three e-mails were refused', async () => {
        const refused = await app.ctx.db`select from mails where error is not null`
        return refused.length >= 3
      })
      server.login = accept
      await until(
        'the others are sent',
        async () => (await statuses()).filter((status) => status === 'sent').length >= 4,
      )
    } finally {
      await worker.stop()
    }
  })
})

describe('an e-mail that was given up', () => {
  const resend = (id: number) => app.operator.post(`/operator/v1/mails/${id}/resend`)

  it('the operator finds the e-mails that failed, and has each attempted again', async () => {
    server.recipient = refuse(550, 'no such user')
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    server.recipient = accept
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    const failed = async () =>
      (await app.operator.get('/operator/v1/mails?status=failed')).body.data
    const [{ id }, ...others] = await failed()
    expect(others).toEqual([])
    const { status, body } = await resend(id)
    expect([status, body.data]).toMatchObject([202, { id, status: 'waiting', sent_at: null }])
    // An entry of the audit log can't be erased later.
    const [entry] = (await app.operator.get('/operator/v1/audit')).body.data
    expect(entry).toMatchObject({ action: 'resendMail', before: null, after: null })
    expect((await resend(id)).status).toBe(409)
    await app.runMail()
    expect([mailServer.received.length, await failed()]).toEqual([2, []])
    expect((await resend(id)).status).toBe(409)
    expect((await resend(id + 1_000)).status).toBe(404)
  })

  it('an e-mail whose buyer was erased is not sent again', async () => {
    server.recipient = refuse(550, 'no such user')
    await sendMail(app.ctx, { ...MAIL, to: 'misty@buyers.example' })
    await app.runMail()
    await app.operator.post('/operator/v1/buyers/erase', {
      payload: { email: 'misty@buyers.example' },
    })
    expect((await resend((await row())!.id)).status).toBe(409)
  })
})

describe('an e-mail without a mail server', () => {
  it('without a mail server, the sandbox captures an e-mail and does not log it', async () => {
    const sandbox = await startTestApp()
    await sendMail(sandbox.ctx, MAIL)
    await sandbox.runMail()
    expect(await row(sandbox)).toMatchObject({ status: 'captured', attempts: 1, error: null })
    expect(JSON.stringify(sandbox.logged)).not.toContain(MAIL.to)
  })

  it('without a mail server and outside the sandbox, an e-mail is logged once, without its text', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    await sendMail(real.ctx, MAIL)
    await real.runMail()
    await real.runMail()
    expect(await row(real)).toMatchObject({ status: 'logged', attempts: 1, error: null })
    const lines = real.logged.filter((line) => JSON.stringify(line).includes(MAIL.to))
    expect(lines).toMatchObject([{ level: 'info', to: MAIL.to, subject: MAIL.subject }])
    expect(JSON.stringify(real.logged)).not.toContain('Pikachu')
  })
})

describe('a claim of an e-mail', () => {
  it('concurrent claims never return the same e-mail', async () => {
    await Promise.all(Array.from({ length: 20 }, () => sendMail(app.ctx, MAIL)))
    const claims = await Promise.all(
      Array.from({ length: 15 }, (_, i) => claimMails(app.ctx, 1 + (i % 3))),
    )
    const ids = claims.flat().map(({ id }) => id)
    expect([ids.length, new Set(ids).size]).toEqual([20, 20])
  })

  it('claims return the e-mails that have been due longest, and none that has no attempt left', async () => {
    for (let n = 1; n <= 5; n++) {
      await sendMail(app.ctx, { ...MAIL, subject: `${n}` })
      await advance(app.operator, 1)
    }
    await app.ctx.db`
      update mails set attempts = 5, leased_until = clock_timestamp() - interval '1 s' where subject = '2'
    `
    const subjects = (await claimMails(app.ctx, 3)).map(({ subject }) => subject)
    expect(subjects.toSorted()).toEqual(['1', '3', '4'])
  })

  it('when a process dies after sending, the e-mail is sent again with the same Message-ID once its lease has expired', async () => {
    await sendMail(app.ctx, MAIL)
    const claimed = await claimMail()
    // It is sent, and the outcome is not recorded.
    await sendOnly(claimed!)
    await app.runMail()
    expect(mailServer.received).toHaveLength(1)
    await expireLeases()
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 2, error: null })
    const [first, second] = mailServer.received
    expect(second!.headers).toEqual(first!.headers)
  })

  it('the lease of an e-mail is six minutes of real time, however the clock is moved', async () => {
    await sendMail(app.ctx, MAIL)
    await claimMail()
    await advance(app.operator, 3_600)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'waiting', attempts: 1 })
    const [lease] = await app.ctx.db`
      select extract(epoch from leased_until - clock_timestamp())::float8 as seconds from mails
    `
    expect(lease!.seconds).toBeGreaterThan(340)
    expect(lease!.seconds).toBeLessThanOrEqual(360)
  })

  it('an e-mail that crashes its process five times fails permanently', async () => {
    await sendMail(app.ctx, MAIL)
    for (const attempts of [1, 2, 3, 4, 5]) {
      expect(await claimMail()).toMatchObject({ attempts })
      await expireLeases()
    }
    await app.runMail()
    expect(mailServer.received).toEqual([])
    expect(await row()).toMatchObject({
      status: 'failed',
      attempts: 5,
      error: 'The service stopped during this attempt.',
    })
  })

  it.each([
    ['succeeds', accept],
    ['fails', refuse(550, 'no such user')],
  ])('a process whose lease has expired records nothing when its attempt %s', async (_, end) => {
    await sendMail(app.ctx, MAIL)
    const claimed = await claimMail()
    await expireLeases()
    expect(await claimMail()).toMatchObject({ attempts: 2 })
    const before = await row()
    server.recipient = end
    const mailer = openMailer(app.ctx)
    const record = (handled: Handled) => recordSuccesses(app.ctx, [handled])
    await deliverMail(app.ctx, mailer, claimed!, record, notStopping)
    await mailer.close()
    expect(await row()).toEqual(before)
  })

  it('an e-mail is deleted after 30 days, unless it is still waiting', async () => {
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    await advance(app.operator, 30 * 86_400 - 60)
    await pruneMails(app.ctx)
    expect(await row()).toMatchObject({ status: 'sent' })
    const { id } = (await row())!
    await app.ctx.db`
      insert into mails (recipient, subject, text, created_at, next_attempt_at)
      select recipient, subject, text, created_at, created_at from mails
    `
    await advance(app.operator, 60)
    await pruneMails(app.ctx)
    const remaining = await app.ctx.db`select id, status from mails`
    expect(remaining).toMatchObject([{ status: 'waiting' }])
    expect(remaining[0]!.id).not.toBe(id)
  })
})

describe('the mail worker', () => {
  it('the mail worker sends at once after a signal and after the clock has moved', async () => {
    const worker = startMailWorker(app.ctx, { pollIntervalMs: 1e9 })
    try {
      await sendMail(app.ctx, MAIL)
      await app.ctx.signal('mail')
      await until('the e-mail is sent', async () => (await row())!.status === 'sent')

      server.recipient = refuse(451, 'later')
      await sendMail(app.ctx, MAIL)
      await app.ctx.signal('mail')
      await until('the first attempt has failed', async () => (await row())!.error !== null)
      server.recipient = accept
      await advance(app.operator, 60)
      await until('the e-mail is sent', async () => (await row())!.status === 'sent')
    } finally {
      await worker.stop()
    }
  })

  it('the mail worker finds an e-mail without a signal', async () => {
    const worker = startMailWorker(app.ctx)
    try {
      await sendMail(app.ctx, MAIL)
      await until('the e-mail is sent', async () => (await row())!.status === 'sent')
    } finally {
      await worker.stop()
    }
  })

  it('a stopped mail worker finishes the e-mail that is being sent', async () => {
    const slow = Promise.withResolvers<void>()
    server.end = (done) => slow.promise.then(() => done())
    await sendMail(app.ctx, MAIL)
    const worker = startMailWorker(app.ctx, { graceMs: 60_000, pollIntervalMs: 1e9 })
    await until('the server has it', () => mailServer.received.length === 1)
    const stopped = worker.stop()
    await sendMail(app.ctx, MAIL)
    await app.ctx.signal('mail')
    slow.resolve()
    await stopped
    const mails = await app.ctx.db`select status, attempts from mails order by id`
    expect(mails).toEqual([
      { status: 'sent', attempts: 1 },
      { status: 'waiting', attempts: 0 },
    ])
  })

  it('a stopped mail worker releases an unfinished e-mail, and the attempt does not count', async () => {
    server.recipient = () => {}
    let connected = 0
    server.sender = (done) => {
      connected++
      done()
    }
    await sendMail(app.ctx, MAIL)
    const worker = startMailWorker(app.ctx, { graceMs: 50 })
    await until('the attempt is under way', () => connected === 1)
    await worker.stop()
    expect(await row()).toMatchObject({
      status: 'waiting',
      attempts: 0,
      leased_until: null,
      error: null,
    })
    server.recipient = accept
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 1 })
  })
})

/** Sends the e-mail without recording it, like a process that dies right after. */
async function sendOnly(mail: ClaimedMail): Promise<void> {
  const mailer = openMailer(app.ctx)
  await mailer.deliver(mail, notStopping)
  await mailer.close()
}

/** Lets all leases expire. */
const expireLeases = () => app.ctx.db`
  update mails
  set leased_until = clock_timestamp() - interval '1 second'
  where leased_until is not null
`
