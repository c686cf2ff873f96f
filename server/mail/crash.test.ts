import { beforeAll, describe, expect, it, vi } from 'vitest'
import { signalOnly } from '../database/signals.ts'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { type MailServer, startMailServer } from '../test/fakes/mail-server.ts'
import { newDataDir, type Service, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'
import { sendMail } from './outbox.ts'

// Whole processes, on a machine that may have other things to do.
vi.setConfig({ testTimeout: 120_000 })

const PASSWORD = 'hush-hush'

describe('a mail on its way', () => {
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

  /** A service whose mail the server has, and says nothing to. */
  async function midSend(): Promise<Service> {
    isSilent = true
    const service = await (await startService(settings)).ready()
    const before = server.received.length
    await sendMail(
      { db, now: () => new Date(), signal: signalOnly(db) },
      { to: 'kanto@shops.example', subject: 'Sold', text: 'Pikachu' },
    )
    await until('the server has it', () => server.received.length === before + 1)
    return service
  }

  it('survives kill -9: the next process sends it again when the lease has run out, as the same mail', async () => {
    const killed = await midSend()
    await killed.stop('SIGKILL')
    expect(await statuses()).toEqual(['waiting 1'])
    isSilent = false
    // Rather than waiting two minutes.
    await db`update mails set leased_until = clock_timestamp()`
    const service = await (await startService(settings)).ready()
    await until('it is sent', async () => (await statuses())[0] === 'sent 2')
    expect(await service.stop('SIGTERM')).toMatchObject({ code: 0 })
    const [first, second, ...others] = server.received.map(({ headers }) => headers['message-id'])
    expect([second, others]).toEqual([first, []])
  })

  it('is given back at a shutdown after 5 seconds, and the password is nowhere in what the service says', async () => {
    const service = await midSend()
    const { code, stderr, stdout } = await service.stop('SIGTERM')
    expect(code).toBe(0)
    expect((await statuses())[1]).toBe('waiting 0')
    expect(stderr + stdout).not.toContain(PASSWORD)
  })
})
