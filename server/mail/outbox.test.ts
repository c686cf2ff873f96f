import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { type MailServer, startMailServer } from '../test/fakes/mail-server.ts'
import { advance } from '../test/fixtures/listings.ts'
import { until } from '../test/until.ts'
import { deliverMail } from './deliver-mail.ts'
import type { ClaimedMail } from './mail.ts'
import { startMailWorker } from './mail-worker.ts'
import { openMailer } from './mailer.ts'
import { claimMail, pruneMails, sendMail } from './outbox.ts'

const PASSWORD = 'hush/hush@1%'
const MAIL = { to: 'kanto@shops.example', subject: 'Sold', text: 'Your Pikachu was bought.\n' }

type Done = (error?: Error | null) => void

/** What the mail server does with what comes; each test sets it up anew. */
const server = {
  login: (_done: Done) => {},
  sender: (_done: Done) => {},
  recipient: (_done: Done) => {},
  end: (_done: Done) => {},
}
const yes = (done: Done) => done()
const no = (responseCode: number, words: string) => (done: Done) =>
  done(Object.assign(new Error(words), { responseCode }))

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
    onRcptTo: (_address, _session, done) => server.recipient(done),
    onData: (_stream, _session, done) => server.end(done),
  })
  app = await startTestApp({ settings: settingsFor(mailServer) })
})

beforeEach(async () => {
  Object.assign(server, { login: yes, sender: yes, recipient: yes, end: yes })
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
const nothingYet = new AbortController().signal

describe('an e-mail', () => {
  it('is sent by the worker, from MAIL_FROM and as plain text', async () => {
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

  it('is as if it had never been when its transaction is rolled back, and part of it otherwise', async () => {
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

  it('arrives with umlauts, Japanese and long lines as they were', async () => {
    const subject = `Verkauft: Glurak & リザードンex – ${'Größe '.repeat(20)}🂡`
    const text = `Schöne Grüße\n\n.\n..\n From here\nリザードン ${'lang '.repeat(300)}!\n`
    await sendMail(app.ctx, { ...MAIL, subject, text })
    await app.runMail()
    expect(mailServer.received[0]!.headers.subject).toBe(subject)
    expect(mailServer.received[0]!.text).toBe(text)
  })

  it('gets no header and no recipient from line breaks in what others named', async () => {
    await sendMail(app.ctx, { ...MAIL, subject: 'Sold\r\nBcc: all@shops.example\r\n\r\nBuy!' })
    await app.runMail()
    const [{ to, headers, text }] = mailServer.received as [MailServer['received'][0]]
    expect(to).toEqual(['kanto@shops.example'])
    expect(headers.subject).toBe('Sold Bcc: all@shops.example Buy!')
    expect(headers).not.toHaveProperty('bcc')
    expect(text).toBe(MAIL.text)
  })

  it('goes to the very address it was given, and not to what could be read in it', async () => {
    await sendMail(app.ctx, { ...MAIL, to: 'all:kanto@shops.example' })
    await app.runMail()
    expect(mailServer.received).toMatchObject([{ to: ['"all:kanto"@shops.example'] }])
  })

  it.each([
    'kanto@shops.example\r\nBcc: all@shops.example',
    'kanto@shops.example, johto@shops.example',
    'nobody',
  ])('to what is no single address is given up without a try: %j', async (to) => {
    await sendMail(app.ctx, { ...MAIL, to })
    await app.runMail()
    expect(mailServer.received).toEqual([])
    expect(await row()).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: 'This is no e-mail address.',
    })
  })

  it('is tried again after a minute, ten, an hour and six, and then given up', async () => {
    server.recipient = no(451, 'try later')
    await sendMail(app.ctx, MAIL)
    const tries = []
    for (const minutes of [1, 10, 60, 360]) {
      await app.runMail()
      const { status, attempts, error, next_attempt_at: next } = (await row())!
      expect({ status, error }).toEqual({
        status: 'waiting',
        error: 'The mail server refused the recipient: 451 try later',
      })
      expect((next.getTime() - app.ctx.now().getTime()) / 60_000).toBeCloseTo(minutes, 0)
      tries.push(attempts)
      await advance(app.operator, minutes * 60 - 20)
      await app.runMail()
      expect(await row()).toMatchObject({ attempts })
      await advance(app.operator, 20)
    }
    expect(tries).toEqual([1, 2, 3, 4])
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'failed', attempts: 5, next_attempt_at: null })
    expect(app.logged.at(-1)).toMatchObject({ level: 'warn', message: 'a mail was given up' })
  })

  it('goes out at the next try when the mail server is back', async () => {
    server.recipient = no(421, 'closing')
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'waiting', attempts: 1 })
    server.recipient = yes
    await advance(app.operator, 60)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 2, error: null })
  })

  it.each([
    ['its recipient', { recipient: no(550, 'no such user') }, '550 no such user'],
    ['itself', { end: no(554, 'looks like spam') }, '554 looks like spam'],
  ])('is given up at once when the server refuses %s for good', async (_, refusal, words) => {
    Object.assign(server, refusal)
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(await row()).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: expect.stringMatching(new RegExp(`^The mail server refused the .*: ${words}$`)),
    })
    // The server's own words can name the recipient: the log has its code alone.
    const logged = app.logged.at(-1)!
    expect(logged.reason).toMatch(/^The mail server refused the (recipient|mail) \(55\d\)\.$/)
    expect(JSON.stringify(logged)).not.toContain(words)
  })

  it('waits when it is the sender or the login that is refused: settings can be mended', async () => {
    server.sender = no(550, 'not you')
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect(await row()).toMatchObject({
      status: 'waiting',
      error: 'The mail server refused the sender: 550 not you',
    })
    server.login = no(535, 'wrong')
    await advance(app.operator, 60)
    await app.runMail()
    expect(await row()).toMatchObject({
      status: 'waiting',
      attempts: 2,
      error: 'The mail server refused the login (535).',
    })
  })

  it('keeps only so much of what the server said', async () => {
    server.recipient = no(550, 'no '.repeat(200))
    await sendMail(app.ctx, MAIL)
    await app.runMail()
    expect((await row())!.error.length).toBeLessThan(250)
  })
})

describe('the password of the mail server', () => {
  it('is in no log and no row, not even when the server repeats it', async () => {
    const wrong = await startTestApp({ settings: settingsFor(mailServer, 'hush/other') })
    await sendMail(wrong.ctx, MAIL)
    await wrong.runMail()
    const told = JSON.stringify([wrong.logged, await row(wrong)], (_, value) =>
      value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
    )
    expect(told).toContain('refused the login')
    expect(told).not.toMatch(/hush|other/)
  })
})

describe('a mail server', () => {
  it('that drops the connection, before or after it has the mail, is tried again later', async () => {
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
      attempts: 1,
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

  it('that nobody listens at is tried again later', async () => {
    const closed = await startTestApp({ settings: settingsFor({ port: 1 }) })
    await sendMail(closed.ctx, MAIL)
    await closed.runMail()
    expect(await row(closed)).toMatchObject({
      status: 'waiting',
      error: 'The connection to the mail server failed (ECONNREFUSED).',
    })
  })

  it.each([
    ['does not greet', 'onConnect'],
    ['takes the mail and says nothing more', 'onData'],
  ])('that %s is waited for only so long', async (_, silence) => {
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
      attempts: 1,
      error: 'The mail server did not answer in time.',
    })
    silent.hangUp()
  })

  it('that never comes to an end is waited for only so long, though it always says something', async () => {
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
        error: 'The mail server did not answer in time.',
      })
    } finally {
      clearInterval(timer)
      endless.close()
    }
  })

  it('that offers no encryption gets nothing where the address requires it', async () => {
    const open = await startMailServer()
    const SMTP_URL = `${open.url}?requireTLS=true`
    const careful = await startTestApp({ settings: { ...settingsFor(open), SMTP_URL } })
    await sendMail(careful.ctx, MAIL)
    await careful.runMail()
    expect(open.received).toEqual([])
    expect(await row(careful)).toMatchObject({
      status: 'waiting',
      error: 'The mail server could not be reached encrypted.',
    })
  })

  it('needs no login where the address has none', async () => {
    const open = await startMailServer()
    const plain = await startTestApp({ settings: { ...settingsFor(open), SMTP_URL: open.url } })
    await sendMail(plain.ctx, MAIL)
    await plain.runMail()
    expect(open.received).toMatchObject([{ to: [MAIL.to], user: undefined }])
  })
})

describe('without a mail server', () => {
  it('a mail is captured in the sandbox: not sent, not logged', async () => {
    const sandbox = await startTestApp()
    await sendMail(sandbox.ctx, MAIL)
    await sandbox.runMail()
    expect(await row(sandbox)).toMatchObject({ status: 'captured', attempts: 1, error: null })
    expect(JSON.stringify(sandbox.logged)).not.toContain(MAIL.to)
  })

  it('a mail is logged once elsewhere, without its text', async () => {
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

describe('the work', () => {
  it('is shared by processes on one database, and no mail is sent twice', async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: settingsFor(mailServer),
    })
    const subjects = Array.from({ length: 30 }, (_, number) => `Sold ${number}`)
    await Promise.all(subjects.map((subject) => sendMail(app.ctx, { ...MAIL, subject })))
    await Promise.all([app.runMail(), other.runMail()])
    const arrived = mailServer.received.map(({ headers }) => headers.subject)
    expect(arrived.toSorted()).toEqual(subjects.toSorted())
  })

  it('is claimed once, however many look at the same moment', async () => {
    await Promise.all(Array.from({ length: 20 }, () => sendMail(app.ctx, MAIL)))
    const claims = await Promise.all(Array.from({ length: 30 }, () => claimMail(app.ctx)))
    const ids = claims.flatMap((mail) => mail?.id ?? [])
    expect([ids.length, new Set(ids).size]).toEqual([20, 20])
  })

  it('of a process that died is done again when its lease has run out: the same mail, by its Message-ID', async () => {
    await sendMail(app.ctx, MAIL)
    const claimed = await claimMail(app.ctx)
    // It was sent, and nobody could note it.
    await sendOnly(claimed!)
    await app.runMail()
    expect(mailServer.received).toHaveLength(1)
    await loseLease()
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 2, error: null })
    const [first, second] = mailServer.received
    expect(second!.headers).toEqual(first!.headers)
  })

  it('has a lease in real time: two minutes, wherever the clock is moved', async () => {
    await sendMail(app.ctx, MAIL)
    await claimMail(app.ctx)
    await advance(app.operator, 3_600)
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'waiting', attempts: 1 })
    const [lease] = await app.ctx.db`
      select extract(epoch from leased_until - clock_timestamp())::float8 as seconds from mails
    `
    expect(lease!.seconds).toBeGreaterThan(100)
    expect(lease!.seconds).toBeLessThanOrEqual(120)
  })

  it('that brings its process down five times is given up', async () => {
    await sendMail(app.ctx, MAIL)
    for (const attempts of [1, 2, 3, 4, 5]) {
      expect(await claimMail(app.ctx)).toMatchObject({ attempts })
      await loseLease()
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
    ['has sent it', yes],
    ['has failed', no(550, 'no such user')],
  ])('of one who was taken for dead and is not changes nothing when it %s', async (_, end) => {
    await sendMail(app.ctx, MAIL)
    const claimed = await claimMail(app.ctx)
    await loseLease()
    expect(await claimMail(app.ctx)).toMatchObject({ attempts: 2 })
    const before = await row()
    server.recipient = end
    const mailer = openMailer(app.ctx)
    await deliverMail(app.ctx, mailer, claimed!, nothingYet)
    await mailer.close()
    expect(await row()).toEqual(before)
  })

  it('is forgotten after 30 days, unless it still waits', async () => {
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
    const left = await app.ctx.db`select id, status from mails`
    expect(left).toMatchObject([{ status: 'waiting' }])
    expect(left[0]!.id).not.toBe(id)
  })
})

describe('the worker', () => {
  it('begins at once when it is woken, and when the clock moves', async () => {
    const worker = startMailWorker(app.ctx, { pollIntervalMs: 1e9 })
    try {
      await sendMail(app.ctx, MAIL)
      await app.ctx.signal('mail')
      await until('it is sent', async () => (await row())!.status === 'sent')

      server.recipient = no(451, 'later')
      await sendMail(app.ctx, MAIL)
      await app.ctx.signal('mail')
      await until('it has failed once', async () => (await row())!.error !== null)
      server.recipient = yes
      await advance(app.operator, 60)
      await until('it is sent', async () => (await row())!.status === 'sent')
    } finally {
      await worker.stop()
    }
  })

  it('finds by itself what nobody woke it for', async () => {
    const worker = startMailWorker(app.ctx)
    try {
      await sendMail(app.ctx, MAIL)
      await until('it is sent', async () => (await row())!.status === 'sent')
    } finally {
      await worker.stop()
    }
  })

  it('lets a mail get through that is under way when it is stopped', async () => {
    const slow = Promise.withResolvers<void>()
    server.end = (done) => slow.promise.then(() => done())
    await sendMail(app.ctx, MAIL)
    const worker = startMailWorker(app.ctx)
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

  it('gives back what does not get through by then, as if it had not been tried', async () => {
    server.recipient = () => {}
    let connected = 0
    server.sender = (done) => {
      connected++
      done()
    }
    await sendMail(app.ctx, MAIL)
    const worker = startMailWorker(app.ctx, { graceMs: 50 })
    await until('it is under way', () => connected === 1)
    await worker.stop()
    expect(await row()).toMatchObject({
      status: 'waiting',
      attempts: 0,
      leased_until: null,
      error: null,
    })
    server.recipient = yes
    await app.runMail()
    expect(await row()).toMatchObject({ status: 'sent', attempts: 1 })
  })
})

/** Sends it and notes nothing: as if the process had died then. */
async function sendOnly(mail: ClaimedMail): Promise<void> {
  const mailer = openMailer(app.ctx)
  await mailer.deliver(mail, nothingYet)
  await mailer.close()
}

/** As if the process that is at it were gone for two minutes. */
const loseLease = () => app.ctx.db`
  update mails
  set leased_until = clock_timestamp() - interval '1 second'
  where leased_until is not null
`
