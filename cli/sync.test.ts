import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { sign, verify } from '../sdk/src/webhooks.ts'
import { startReceiver, subscribe } from '../server/test/fakes/receiver.ts'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import { freePort } from '../server/test/free-port.ts'
import { streamsStartNow } from '../server/test/streams-start-now.ts'
import { until } from '../server/test/until.ts'
import {
  app,
  file,
  run,
  seller,
  start,
  startProxy,
  startShop,
  startSync,
  succeed,
} from './test/packed.ts'

beforeAll(startShop)

describe('sync and webhooks', () => {
  it('listen forwards each event once, also after lost connections and between two runs', async () => {
    const receiver = await startReceiver()
    const events = ['order.created', 'listing.sold'] as const
    const listen = async () => {
      const args = ['--forward', receiver.url, '--events', events.join(',')]
      const { child, ended } = start(['webhooks', 'listen', ...args])
      let notes = ''
      child.stderr.on('data', (data) => {
        notes += data
      })
      await until('it listens', () => notes.includes('Waiting for events.'))
      return { child, ended, notes }
    }
    const send = (event: string) => seller.post('/tools/v1/events', { payload: { event } })
    const arrived = (n: number) =>
      until(`event ${n} arrives`, () => receiver.arrived.length >= n || undefined)
    const first = await listen()
    await send(events[0])
    await arrived(1)
    app.app.server.closeAllConnections()
    await send('order.cancelled')
    await send(events[1])
    await arrived(2)
    first.child.kill('SIGINT')
    const { code, stdout } = await first.ended
    expect([code, stdout.split('\n').length]).toEqual([130, 3])
    expect(stdout).toMatch(/^\S+Z\torder\.created\t#\d+\t204$/m)

    for (const event of events) await send(event)
    const second = await listen()
    expect(second.notes).toContain('Continuing after the last run')
    await arrived(4)
    second.child.kill('SIGTERM')
    expect((await second.ended).code).toBe(130)
    const third = await listen()
    await send(events[0])
    await arrived(5)
    third.child.kill('SIGKILL')
    await third.ended
    const ids = receiver.arrived.map(({ json }) => json.delivery_id)
    expect(new Set(ids).size).toBe(5)
    expect(receiver.arrived.map(({ json }) => json.event)).toEqual([
      ...events,
      ...events,
      events[0],
    ])
    const [secret] = /svc_whsec_\w+/.exec(first.notes)!
    for (const { body, headers } of receiver.arrived) await verify(body, headers, secret)
  })

  it.each(['--json', '--ndjson', '--quiet'])(
    'listen with %s shows its secret, and that it waits or has lost its connection unless it is quiet',
    async (option) => {
      const { child, ended } = start([
        'webhooks',
        'listen',
        '--forward',
        'http://x.example',
        option,
      ])
      let text = ''
      child.stderr.on('data', (data) => {
        text += data
      })
      await until('the secret is shown', () => /secret is svc_whsec_\w{40}\n/.test(text))
      if (option !== '--quiet') {
        await until('it listens', () => text.includes('Waiting for events.'))
        app.app.server.closeAllConnections()
        await until('it notices', () => text.includes('The connection is lost.'))
      }
      child.kill('SIGKILL')
      expect((await ended).stdout).toBe('')
    },
  )

  it('listen prints resends, and begins now if its position is of another database', async () => {
    const env = { XDG_CONFIG_HOME: file('position') }
    const listen = async () => {
      await streamsStartNow(app.ctx.db)
      const { child, ended } = start(['webhooks', 'listen'], { env })
      let text = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data) => {
          text += data
        })
      }
      await until('it listens', () => text.includes('Waiting for events.'))
      return { child, ended, text: () => text }
    }
    const created = await subscribe(seller, 'https://hooks.example/', ['order.created'])
    const { child, ended, text } = await listen()
    await succeed('webhooks trigger order.created')
    const [delivery] = JSON.parse(
      await succeed(`webhooks deliveries --endpoint ${created.id} --json`),
    )
    await succeed(`webhooks resend ${delivery.id}`)
    await until('the resend is printed', () => text().match(/order\.created/g)?.length === 2)
    child.kill('SIGINT')
    await ended
    const [name] = await readdir(file('position/cardstall/positions'))
    await writeFile(file(`position/cardstall/positions/${name}`), '999999999999-0\n')
    const again = await listen()
    expect(again.text()).toContain('to another database')
    again.child.kill('SIGINT')
    await again.ended
    expect((await run('webhooks resend')).code).toBe(2)
    const { secret } = JSON.parse(await succeed(`webhooks rotate-secret ${created.id} --json`))
    expect(secret).not.toBe(created.secret)
    expect(await succeed(`webhooks test ${created.id} listing.sold`)).toContain('listing.sold')
    await succeed(`webhooks delete ${created.id}`)
  })

  it('listen says which event its receiver did not get, and why', async () => {
    await streamsStartNow(app.ctx.db)
    const env = { XDG_CONFIG_HOME: file('refused') }
    const { child, ended } = start(
      ['webhooks', 'listen', '--forward', `http://127.0.0.1:${await freePort()}`],
      { env },
    )
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        text += data
      })
    }
    await until('it listens', () => text.includes('Waiting for events.'))
    await succeed('webhooks trigger order.created')
    await until('the event is printed', () => text.includes('order.created'))
    child.kill('SIGINT')
    expect((await ended).stdout).toMatch(/\torder\.created\t#\d+\tnot received \(ECONNREFUSED\)\n$/)
  })

  it('listen forwards events with the user and password of the address, and does not print them', async () => {
    const receiver = await startReceiver()
    const address = receiver.url.replace('//', '//ash:p%40ss@')
    const env = { XDG_CONFIG_HOME: file('user') }
    await streamsStartNow(app.ctx.db)
    const { child, ended } = start(['webhooks', 'listen', '--forward', address], { env })
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
    })
    await until('it listens', () => text.includes('Waiting for events.'))
    await succeed('webhooks trigger order.created')
    await until('the event is forwarded', () => receiver.arrived.length === 1)
    child.kill('SIGINT')
    const { stdout, stderr } = await ended
    const { authorization } = receiver.arrived[0]!.headers
    expect(authorization).toBe(`Basic ${Buffer.from('ash:p@ss').toString('base64')}`)
    expect(stdout).toMatch(/\t204\n$/)
    expect(stderr).toContain(`Forwarding to ${receiver.url}.`)
  })

  it('sync prints the changes since its last run', async () => {
    await startSync('sync --once')
    const [id] = await list(seller, cardItem())
    const printed = await until('the change can be read', () => succeed('sync --once'))
    expect(printed).toContain(`listing\t${id}\tcreated\tactive\n`)
    expect(await succeed('sync --once')).toBe('')
    // A file of its own has a position of its own.
    await startSync('sync --once --cursor mine')
    expect(await readFile(file('mine'), 'utf8')).toMatch(/^\S+\n$/)
  })

  it('a first sync waits until the service can be reached, and sync --once ends with the error', async () => {
    let refusals = 0
    const address = await startProxy((request, response) => {
      if (!request.url!.includes('/changes') || ++refusals > 6) return undefined
      return response.writeHead(503, { 'retry-after': '0' }).end()
    })
    const env = { CARDSTALL_URL: address }
    expect((await run('sync --once --cursor late', { env })).code).toBe(1)
    const { child, ended } = start(['sync', '--cursor', 'late'], { env })
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
    })
    await until('it starts', () => text.includes('Starting now'))
    child.kill('SIGINT')
    await ended
  })

  it.each([
    ['sync', 'Starting now'],
    ['webhooks listen', 'Waiting for events.'],
  ])('%s that begins during an outage says so and waits for its end', async (command, started) => {
    let refusals = 0
    const address = await startProxy((request, response) => {
      if (++refusals <= 4) return response.writeHead(503, { 'retry-after': '0' }).end()
      if (!request.url!.includes('/stream')) return undefined
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1-0\n\n')
    })
    const env = { CARDSTALL_URL: address, XDG_CONFIG_HOME: file(`outage-${command}`) }
    const { child, ended } = start(command.split(' '), { env })
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
    })
    await until('it starts', () => text.includes(started))
    child.kill('SIGKILL')
    await ended
    expect(text.match(/The service cannot be reached/g)).toHaveLength(1)
  })

  it.each(['sync', 'webhooks listen'])('%s ends at once with a wrong address', async (command) => {
    const env = { CARDSTALL_URL: `http://127.0.0.1:${await freePort()}/v1` }
    const { code, stderr } = await run(command, { env })
    expect(code).toBe(1)
    expect(stderr).toContain('check the address')
  })

  it('the error of a service that is away says when to try again, as the service does', async () => {
    const address = await startProxy((_, response) =>
      response.writeHead(503, { 'retry-after': '120' }).end(),
    )
    const { code, stderr } = await run('whoami', { env: { CARDSTALL_URL: address } })
    expect([code, stderr]).toEqual([
      1,
      'The service responded with status 503. Try again in 120 s.\n',
    ])
  })

  it.each([
    ['as text', 'away', []],
    ['as NDJSON', 'away-ndjson', ['--ndjson']],
  ])(
    'sync %s says once that the service cannot be reached, and when it is reached again',
    async (_, name, output) => {
      let isAway = false
      const address = await startProxy((request, response) => {
        if (!isAway || !request.url!.includes('/changes')) return undefined
        return response.writeHead(503, { 'retry-after': '0' }).end()
      })
      const env = { CARDSTALL_URL: address }
      const args = ['sync', '--cursor', name, '--after', 'now', ...output]
      const { child, ended } = start(args, { env })
      let text = ''
      child.stderr.on('data', (data) => {
        text += data
      })
      await until('it starts', () => readFile(file(name), 'utf8').catch(() => undefined))
      isAway = true
      await list(seller, cardItem())
      await until('it notices', () => text.includes('cannot be reached'))
      isAway = false
      // Without a change, the first response would come after half a minute.
      await list(seller, cardItem())
      await until('it is back', () => text.includes('reached again'))
      child.kill('SIGINT')
      await ended
      expect(text.match(/cannot be reached/g)).toHaveLength(1)
    },
  )

  it('the JSON of sync --once is one value, and its NDJSON a line for each change', async () => {
    const cursor = '--cursor json'
    await startSync(`sync --once ${cursor}`)
    const ids = await list(seller, cardItem(), cardItem())
    const before = await readFile(file('json'), 'utf8')
    const json = await until('the changes can be read', async () => {
      const printed = JSON.parse(await succeed(`sync --once --json ${cursor}`))
      if (printed.length >= 2) return printed
      await writeFile(file('json'), before)
      return undefined
    })
    expect(json.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining(ids))
    expect(await succeed(`sync --once --json ${cursor}`)).toBe('[]\n')
    await writeFile(file('json'), before)
    const lines = (await succeed(`sync --once --ndjson ${cursor}`)).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(json)
  })

  it('a position that cannot be read is an error, because a run without it would skip changes', async () => {
    await symlink(file('unreadable'), file('unreadable'))
    const { code, stderr } = await run('sync --once --cursor unreadable')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^unreadable cannot be opened/)])
  })

  it.each([
    ['sync --once --after zz', '--after "zz"'],
    ['sync --once --cursor other.txt', 'other.txt'],
  ])('"%s" names the value that is not a position', async (args, name) => {
    await writeFile(file('other.txt'), 'zz\n')
    const { code, stderr } = await run(args)
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`${name} is not a position in the changes`),
    ])
  })

  it('an endpoint is added with its secret, listed and deleted', async () => {
    const created = JSON.parse(
      await succeed('webhooks create https://hooks.example/ order.created --json'),
    )
    expect(created.secret).toMatch(/^svc_whsec_/)
    expect(await succeed('webhooks list')).toContain(`${created.id}\thttps://hooks.example/`)
    await succeed(`webhooks delete ${created.id}`)
    expect(await succeed('webhooks list')).toBe('')
  })

  it('webhooks verify tells a genuine delivery from another', async () => {
    const input = '{"event":"order.created"}'
    const headers = await sign(input, 'svc_whsec_a', 1_700_000_000)
    const signed = `--timestamp 1700000000 --signature ${headers['x-service-signature']}`
    const genuine = await succeed(`webhooks verify --secret svc_whsec_a ${signed}`, { input })
    expect(genuine).toBe('Genuine\tyes\nEvent\torder.created\n')
    expect((await run(`webhooks verify --secret svc_whsec_b ${signed}`, { input })).code).toBe(1)
    for (const body of ['x', 'null', '{}']) {
      const { 'x-service-signature': hash } = await sign(body, 'svc_whsec_a', 1_700_000_000)
      const args = `--secret svc_whsec_a --timestamp 1700000000 --signature ${hash}`
      const { code, stdout, stderr } = await run(`webhooks verify ${args}`, { input: body })
      const message = 'The signature is genuine, but the body is not an event.\n'
      expect([code, stdout, stderr]).toEqual([1, '', message])
    }
  })
})
