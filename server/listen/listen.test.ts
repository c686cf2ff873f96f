import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../config.ts'
import { StartError } from '../start-error.ts'
import { testDatabase } from '../test/database.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { isSignedWith, type Receiver, startReceiver } from '../test/fakes/receiver.ts'
import { ADDRESS, BUYER } from '../test/fixtures/orders.ts'
import { freePort } from '../test/free-port.ts'
import {
  type Command,
  newDataDir,
  runToEnd,
  type Service,
  type Settings,
  startCommand,
  startService,
} from '../test/process.ts'
import { streamsStartNow } from '../test/streams-start-now.ts'
import { until } from '../test/until.ts'
import { readEvents } from './event-source.ts'
import { readOptions } from './options.ts'

let settings: Settings
let service: Service
let db: Awaited<ReturnType<typeof testDatabase>>['db']
let accountId: number
let receiver: Receiver

beforeAll(async () => {
  const database = await testDatabase('product')
  db = database.db
  settings = {
    DATABASE_URL: database.url,
    SANDBOX: 'true',
    DATA_DIR: newDataDir(),
    PORT: String(await freePort()),
  }
  service = await (await startService(settings)).ready()
  accountId = (await service.get('/v1/me', service.printed().key)).body.data.id
})

beforeEach(async () => {
  receiver = await startReceiver()
})

/** Runs the command as a developer does: it finds the secrets in the sandbox's DATA_DIR. */
async function listen(...parameters: string[]): Promise<Command> {
  await streamsStartNow(db)
  const command = startCommand(['listen', ...parameters], onThisMachine())
  await command.prints('Ctrl-C')
  return command
}

const onThisMachine = (): Settings => ({ DATA_DIR: settings.DATA_DIR, PORT: settings.PORT })

const asOperator = async (method: string, path: string, body?: object) => {
  const response = await service.call(method, `/operator/v1${path}`, {
    token: service.printed().token,
    body,
  })
  if (response.status >= 300) throw new Error(`${method} ${path} answered ${response.text}`)
  return response.body
}

const sendSampleEvent = (event = 'order.created') =>
  asOperator('POST', '/sandbox/events', { account_id: accountId, event })

const secretIn = (stdout: string) => stdout.match(/WEBHOOK_SECRET=(\S+)$/m)?.[1] ?? ''

/** The lines that the command printed for events. */
const lines = (command: Command) =>
  command
    .stdout()
    .split('\n')
    .filter((line) => /^\d\d:\d\d:\d\d {2}[a-z]+\.[a-z_]+ /.test(line))

const arrivedIds = () => receiver.arrived.map(({ json }) => json.delivery_id)

describe('npm run listen', () => {
  it('listen shows a sale’s events and forwards them, signed with the secret that it prints', async () => {
    const command = await listen('--forward', `${receiver.url}?a=b`)
    const { key } = service.printed()
    const { body } = await service.call('POST', '/v1/listings', {
      token: key,
      body: {
        items: [{ product: 'tin', language: 'EN', condition: 'M', price: 9.5, quantity: 2 }],
      },
    })
    await asOperator('POST', '/checkouts', {
      buyer: BUYER,
      address: ADDRESS,
      lines: [{ listing_id: body.results[0].listing.id, quantity: 1 }],
    })
    await until('both events are shown', () => lines(command).length === 2)

    const secret = secretIn(command.stdout())
    expect(secret).toMatch(/^svc_whsec_[A-Za-z0-9]{40}$/)
    expect(receiver.arrived.map(({ json }) => json.event)).toEqual([
      'order.created',
      'listing.sold',
    ])
    const events = await db<{ id: number; event: string; data: string }[]>`
      select id, event, data from events order by id desc limit 2
    `
    for (const [i, delivery] of receiver.arrived.entries()) {
      const { id, event, data } = events.find(({ event }) => event === delivery.json.event)!
      expect(delivery).toMatchObject({
        method: 'POST',
        path: '/hooks?a=b',
        headers: {
          'content-type': 'application/json',
          'x-service-event': event,
          'x-service-delivery': String(id),
        },
        json: { delivery_id: id },
      })
      expect(delivery.body.toString()).toContain(`"data":${data}}`)
      expect(isSignedWith(secret, delivery)).toBe(true)
      const sentAt = Number(delivery.headers['x-service-timestamp'])
      expect(Math.abs(sentAt - Date.now() / 1000)).toBeLessThan(60)
      expect(lines(command)[i]).toMatch(
        new RegExp(`^\\d\\d:\\d\\d:\\d\\d  ${event} +#${id}  204 in \\d+ ms$`),
      )
    }
    await command.stop('SIGINT')
  })

  it('listen forwards a resent event with the same delivery id', async () => {
    await service.call('POST', '/v1/webhooks', {
      token: service.printed().key,
      body: { url: 'http://localhost:1/hook', events: ['order.cancelled'] },
    })
    const command = await listen('--forward', receiver.url)
    await sendSampleEvent('order.cancelled')
    await until('the event is forwarded', () => receiver.arrived.length === 1)
    const { data } = await asOperator('GET', `/deliveries?account_id=${accountId}`)
    await asOperator('POST', `/deliveries/${data[0].id}/resend`)
    await until('the resend is forwarded', () => receiver.arrived.length === 2)
    const [first, again] = receiver.arrived
    expect(again!.body).toEqual(first!.body)
    expect(isSignedWith(secretIn(command.stdout()), again!)).toBe(true)
    await command.stop('SIGINT')
  })

  it('listen resumes after an outage of the service without losing or repeating an event', async () => {
    const command = await listen('--forward', receiver.url)
    await sendSampleEvent()
    await until('the event is forwarded', () => receiver.arrived.length === 1)
    expect(await service.stop()).toMatchObject({ code: 0 })
    await command.prints('is unavailable')
    // Another process sells a unit in the meantime.
    await db`
      insert into events (account_id, event, data, created_at)
      select account_id, event, data, created_at from events order by id desc limit 1
    `
    service = await (await startService(settings)).ready()
    await command.prints('is available again')
    await sendSampleEvent()
    await until('all three events are forwarded', () => receiver.arrived.length === 3)
    const written = await db<{ id: number }[]>`select id from events order by id desc limit 3`
    expect(arrivedIds()).toEqual(written.map(({ id }) => id).toReversed())
    expect(command.stdout().match(/is unavailable/g)).toHaveLength(1)
    expect(command.stderr()).toBe('')
    await command.stop('SIGINT')
  })

  it('listen reports a failed forward in one line and does not retry it', async () => {
    const port = await freePort()
    const away = await listen('--forward', `http://localhost:${port}/hook`)
    const command = await listen('--forward', receiver.url)
    await sendSampleEvent()
    await until(
      'both results are shown',
      () => lines(away).length === 1 && lines(command).length === 1,
    )
    expect(lines(away)[0]).toMatch(/#\d+ {2}The server refused the connection\. \(in \d+ ms\)$/)
    receiver.respond = (response) =>
      response.writeHead(302, { location: receiver.url }).end('else\x1b[31mwhere\nand more')
    await sendSampleEvent()
    await until('the result is shown', () => lines(command).length === 2)
    expect(lines(command)[1]).toMatch(/ 302 in \d+ ms: else\?\[31mwhere$/)
    receiver.respondWith(500)
    await sendSampleEvent()
    await until('the result is shown', () => lines(command).length === 3)
    expect(lines(command)[2]).toMatch(/ 500 in \d+ ms$/)
    expect(receiver.arrived).toHaveLength(3)
    expect(away.stderr() + command.stderr()).toBe('')
    await Promise.all([away.stop('SIGINT'), command.stop('SIGINT')])
  })

  it('listen without --forward shows the request that it would post, for the selected events', async () => {
    const command = await listen('--events', 'order.cancelled, listing.sold')
    expect(command.stdout()).not.toContain('svc_whsec_')
    await sendSampleEvent('order.created')
    await sendSampleEvent('order.cancelled')
    await command.prints('\n}\n')
    const [event] = await db<{ id: number }[]>`select id from events order by id desc limit 1`
    expect(lines(command)).toEqual([expect.stringMatching(`order.cancelled +#${event!.id}$`)])
    const shown = JSON.parse(command.stdout().slice(command.stdout().indexOf('{')))
    expect(shown).toMatchObject({
      event: 'order.cancelled',
      delivery_id: event!.id,
      data: { order_id: 501, cancelled_by: 'buyer' },
    })
    await command.stop('SIGINT')
  })

  it('Ctrl-C ends listen at once and without an error', async () => {
    const waiting = await listen()
    const posting = await listen('--forward', receiver.url)
    receiver.respond = () => {}
    await sendSampleEvent()
    await until('the event is forwarded', () => receiver.arrived.length === 1)
    const began = performance.now()
    for (const ended of await Promise.all([waiting.stop('SIGINT'), posting.stop('SIGINT')])) {
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
    }
    // The request to the receiver would end after 10 s.
    expect(performance.now() - began).toBeLessThan(9_000)
  })

  it('listen keeps its secret between runs, if there is a DATA_DIR', async () => {
    const secrets: string[] = []
    const elsewhere = newDataDir()
    const remote = ['--account', String(accountId), '--token', service.printed().token]
    for (const dataDir of [settings.DATA_DIR, settings.DATA_DIR, elsewhere, elsewhere]) {
      const command = startCommand(['listen', ...remote, '--forward', receiver.url], {
        ...onThisMachine(),
        DATA_DIR: dataDir,
      })
      await command.prints('WEBHOOK_SECRET')
      await command.stop('SIGINT')
      secrets.push(secretIn(command.stdout()))
    }
    expect(secrets[0]).toBe(secrets[1])
    expect(new Set(secrets).size).toBe(3)
    expect(existsSync(elsewhere)).toBe(false)
    const file = join(settings.DATA_DIR!, 'secrets/listen-secret')
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  })
})

describe('npm run listen with a mistake', () => {
  it('listen reports unknown options and invalid values in one line', async () => {
    const errorOf = (...parameters: string[]) =>
      readOptions(readConfig(onThisMachine()), parameters).then(
        () => 'nothing',
        (error) => (error instanceof StartError ? error.message : error),
      )
    const possible =
      'Possible: --forward URL, --account ID, --events a,b, --url URL, --token TOKEN.'
    expect(await errorOf('--port', '1')).toBe(`Unknown option '--port'. ${possible}`)
    expect(await errorOf('3001')).toBe(`Unexpected argument '3001'. ${possible}`)
    expect(await errorOf('--forward')).toBe(
      `Option '--forward <value>' argument missing. ${possible}`,
    )
    expect(await errorOf('--forward', '--events')).toMatch(
      /^Option '--forward' argument is ambiguous/,
    )
    expect(await errorOf('--forward', 'localhost:3001')).toMatch(/^--forward must be an address/)
    expect(await errorOf('--url', 'cards.example')).toMatch(/^--url must be an address/)
    expect(await errorOf('--url', 'http://cards.example?a')).toMatch(
      /^--url must be a plain address/,
    )
    expect(await errorOf('--events', 'order.created,order.lost')).toMatch(/"order.lost" is none\.$/)
    expect(await errorOf('--account', '0')).toMatch(/^--account must be/)
    expect(await errorOf('--token', '')).toMatch(/^--token must be/)
    // The secrets in DATA_DIR belong to this machine's service.
    expect(await errorOf('--url', 'http://cards.example', '--account', '1')).toBe(
      'The operator token of http://cards.example is not in the settings: give it with --token or OPERATOR_TOKEN.',
    )
  })

  /** The message of the error that ends the command before it listens. */
  const errorOf = async (parameters: string[], more: Settings = {}) => {
    const opening = async () => {
      const listening = await readOptions(readConfig({ ...onThisMachine(), ...more }), parameters)
      await readEvents(listening, new AbortController().signal).next()
    }
    const error = await opening().catch((error) => error)
    expect(error).toBeInstanceOf(StartError)
    expect(error.message).not.toContain('\n')
    return error.message
  }

  it('listen reports a missing token or account in one line, and creates no DATA_DIR', async () => {
    const nowhere = newDataDir()
    const url = `http://localhost:${settings.PORT}`
    const stderr = `The operator token of ${url} is not in ${nowhere}: give it with --token or OPERATOR_TOKEN.\n`
    const ended = await runToEnd(['listen'], { ...onThisMachine(), DATA_DIR: nowhere })
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr })
    expect(await errorOf(['--token', 'x'], { DATA_DIR: nowhere })).toBe(
      `Choose the account with --account: there is no demo key for ${url} in ${nowhere}.`,
    )
    expect(existsSync(nowhere)).toBe(false)
  })

  it('listen reports a refused token, an unknown account, or another kind of server in one line', async () => {
    const url = `http://localhost:${settings.PORT}`
    const stderr = `${url} does not accept this operator token: give the right one with --token.\n`
    const refused = await runToEnd(['listen', '--token', 'x'], onThisMachine())
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr })
    expect(await errorOf(['--account', '4711'])).toBe(
      `${url} responded with status 404: There is no such account.`,
    )
    for (const body of ['<html>', '{"detail":"Not found"}', 'null']) {
      const { port } = await startWebServer((_request, response) =>
        response.writeHead(404).end(body),
      )
      const other = `http://localhost:${port}`
      expect(await errorOf(['--account', '1', '--url', other])).toBe(
        `${other} responded with status 404: this is not a Cardstall service. Set its address with --url.`,
      )
    }
    const { port } = await startWebServer((_request, response) => response.writeHead(503).end('{}'))
    const starting = `http://localhost:${port}`
    expect(await errorOf(['--url', starting])).toBe(
      `${starting} responded with status 503: it is starting, or its database is unavailable. Try again in a moment.`,
    )
    const nobody = `http://localhost:${await freePort()}`
    expect(await errorOf(['--url', nobody])).toBe(
      `${nobody} can't be reached: The server refused the connection. Start the service, or set its address with --url.`,
    )
  })
})
