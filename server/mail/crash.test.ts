import { beforeAll, describe, expect, it } from 'vitest'
import { signalOnly } from '../database/signals.ts'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { type MailServer, startMailServer } from '../test/fakes/mail-server.ts'
import { newDataDir, type Service, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'
import { sendMail } from './outbox.ts'

const PASSWORD = 'hush-hush'

describe('an e-mail being sent', () => {
  let db: Sql
  let settings: Settings
  let server: MailServer
  let isSilent = false

  beforeAll(async () => {
    const database = await testDatabase('product')
    db = database.db
    server = await startMailServer({
      allowInsecureAuth: true,
      onAuth: ({ username }, _session, done) => done(null, { user: username }),
      onData: (_stream, _session, done) => {
        if (!isSilent) done()
      },
    })
    settings = {
      DATABASE_URL: database.url,
      DATA_DIR: newDataDir(),
      SANDBOX: 'true',
      LOG_LEVEL: 'trace',
      SMTP_URL: `smtp://shop:${PASSWORD}@127.0.0.1:${server.port}`,
      MAIL_FROM: 'shop@cards.example',
    }
  })

  const statuses = async () =>
    (await db`select status, attempts from mails order by id`).map(
      ({ status, attempts }) => `${status} ${attempts}`,
    )

  const started = async () => (await startService(settings)).ready()

  /** Writes an e-mail and waits until the service is in the middle of an attempt: the mail server doesn't reply. */
  async function attempt(): Promise<void> {
    isSilent = true
    const before = server.received.length
    await sendMail(
      { db, now: () => new Date(), signal: signalOnly(db) },
      { to: 'kanto@shops.example', subject: 'Sold', text: 'Pikachu' },
    )
    await until('the server has it', () => server.received.length === before + 1)
  }

  let next: Service

  it('after kill -9 the next process sends the e-mail again once the lease has expired, with the same Message-ID', async () => {
    const killed = await started()
    await attempt()
    await killed.stop('SIGKILL')
    expect(await statuses()).toEqual(['waiting 1'])
    isSilent = false
    // Instead of waiting six minutes for the lease to expire.
    await db`update mails set leased_until = clock_timestamp()`
    next = await started()
    await until('the e-mail is sent', async () => (await statuses())[0] === 'sent 2')
    const [first, second, ...others] = server.received.map(({ headers }) => headers['message-id'])
    expect([second, others]).toEqual([first, []])
  })

  it('a shutdown releases an unsent e-mail after 5 seconds, and no output contains the password', async () => {
    await attempt()
    const { code, stderr, stdout } = await next.stop('SIGTERM')
    expect(code).toBe(0)
    expect((await statuses())[1]).toBe('waiting 0')
    expect(stderr + stdout).not.toContain(PASSWORD)
  })
})
