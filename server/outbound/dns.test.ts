import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { open, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type DnsServer, type NameData, startDnsServer } from '../test/fakes/dns-server.ts'
import { newDirectory } from '../test/new-directory.ts'
import { until } from '../test/until.ts'
import { systemResolver } from './dns.ts'

const FOUR = '93.184.215.14'
const OTHER_FOUR = '93.184.215.15'
const SIX = '2606:2800:21f:cb07:6820:80da:af6b:8b2c'

let directory: string
let server: DnsServer
beforeAll(async () => {
  directory = await newDirectory()
})
beforeEach(async () => {
  server = await startDnsServer()
})

/** A lookup with these DNS servers and, by default, an empty hosts file. */
const namesBy = (
  servers: (DnsServer | string)[] = [server],
  {
    hostsFile = path.join(directory, 'nobody'),
    ...options
  }: { hostsFile?: string; queryTimeoutMs?: number } = {},
) =>
  systemResolver({
    servers: servers.map((one) => (typeof one === 'string' ? one : one.address)),
    hostsFile,
    ...options,
  })

/**
 * Looks a name up with a short time limit, so that a silent server costs little time. On a busy machine a response can miss
 * the limit as well, so a lookup that fails is repeated with twice the limit.
 */
function impatientLookup(servers: (DnsServer | string)[], hostname: string): Promise<string[]> {
  let queryTimeoutMs = 25
  return until(`${hostname} is found`, () => {
    queryTimeoutMs *= 2
    return namesBy(servers, { queryTimeoutMs })(hostname).catch(() => undefined)
  })
}

describe('a name that DNS knows', () => {
  it('a lookup returns all addresses of both families', async () => {
    server.names.set('both.example', { A: [FOUR, OTHER_FOUR], AAAA: [SIX] })
    const addresses = await namesBy()('both.example')
    expect(addresses.toSorted()).toEqual([SIX, FOUR, OTHER_FOUR].toSorted())
    expect(addresses.at(-1)).toBe(SIX)
  })

  it('a lookup returns the first eight addresses of each family, so that a name with thousands costs no more', async () => {
    const numbers = Array.from({ length: 250 }, (_, n) => n + 1)
    const A = numbers.map((n) => `93.184.215.${n}`)
    const AAAA = numbers.map((n) => `2606:2800:21f:cb07:6820:80da:af6b:${n.toString(16)}`)
    server.names.set('many.example', { A, AAAA })
    expect(await namesBy()('many.example')).toEqual([...A.slice(0, 8), ...AAAA.slice(0, 8)])
  })

  it('a name with addresses of one family is found', async () => {
    server.names.set('four.example', { A: [FOUR] })
    server.names.set('six.example', { AAAA: [SIX] })
    expect(await namesBy()('four.example')).toEqual([FOUR])
    expect(await namesBy()('six.example')).toEqual([SIX])
  })

  it.each(['SERVFAIL', 'REFUSED', 'NXDOMAIN', 'silence'] as const)(
    'a lookup returns the addresses of one family when the query for the other ends in %s',
    async (failure) => {
      server.names.set('four.example', { A: [FOUR], AAAA: failure })
      server.names.set('six.example', { A: failure, AAAA: [SIX] })
      expect(await impatientLookup([server], 'four.example')).toEqual([FOUR])
      expect(await impatientLookup([server], 'six.example')).toEqual([SIX])
    },
  )

  it('a lookup follows an alias (CNAME)', async () => {
    server.names.set('alias.example', { CNAME: 'second.example' })
    server.names.set('second.example', { CNAME: 'real.example' })
    server.names.set('real.example', { A: [FOUR], AAAA: [SIX] })
    expect(await namesBy()('alias.example')).toEqual([FOUR, SIX])
  })

  it.each(['shop.example.', 'SHOP.Example', 'a_b.example', 'xn--80a1acny.example'])(
    'a lookup finds the name written as %s',
    async (hostname) => {
      server.names.set(hostname.toLowerCase().replace(/\.$/, ''), { A: [FOUR] })
      expect(await namesBy()(hostname)).toEqual([FOUR])
    },
  )

  it.each([0, 300])('every lookup queries DNS, also with a TTL of %i', async (ttl) => {
    const resolve = namesBy()
    server.names.set('shop.example', { A: [FOUR], ttl })
    expect(await resolve('shop.example')).toEqual([FOUR])
    server.names.set('shop.example', { A: ['10.0.0.5'], ttl })
    expect(await resolve('shop.example')).toEqual(['10.0.0.5'])
    server.names.delete('shop.example')
    await expect(resolve('shop.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    server.names.set('shop.example', { AAAA: [SIX], ttl })
    expect(await resolve('shop.example')).toEqual([SIX])
  })

  it('a lookup queries the next DNS server if one fails, refuses, is unreachable or silent', async () => {
    const next = await startDnsServer({ 'shop.example': { A: [FOUR] } })
    for (const failure of ['SERVFAIL', 'REFUSED', 'silence'] as const) {
      server.names.set('shop.example', failure)
      expect(await impatientLookup([server, next], 'shop.example')).toEqual([FOUR])
    }
    expect(await impatientLookup(['127.0.0.1:1', server, next], 'shop.example')).toEqual([FOUR])
  })

  it('a slow DNS response is awaited, however many fast lookups finish meanwhile', async () => {
    const slow = Promise.withResolvers<void>()
    server.names.set('fast.example', { A: [FOUR] })
    server.names.set('slow.example', async () => {
      await slow.promise
      return { A: [OTHER_FOUR] }
    })
    const resolve = namesBy()
    for (let times = 0; times < 10; times++) await resolve('fast.example')
    const found = resolve('slow.example')
    const began = performance.now()
    await until('fast lookups have taken a second', async () => {
      await resolve('fast.example')
      return performance.now() - began > 1_000
    })
    slow.resolve()
    expect(await found).toEqual([OTHER_FOUR])
  })
})

describe('a look-up that fails', () => {
  it('a lookup fails with ENOTFOUND if the name does not exist or has no address', async () => {
    server.names.set('mail-only.example', {})
    server.names.set('dangling.example', { CNAME: 'gone.example' })
    for (const hostname of [
      'unknown.example',
      'mail-only.example',
      'dangling.example',
      'two..dots.example',
      `${'long'.repeat(16)}.example`,
      `${'long.'.repeat(60)}example`,
      '%00.example',
    ]) {
      await expect(namesBy()(hostname), hostname).rejects.toMatchObject({ code: 'ENOTFOUND' })
    }
  })

  it.each<[string, NameData]>([
    ['the server fails', 'SERVFAIL'],
    ['the server refuses', 'REFUSED'],
    ['the server does not respond', 'silence'],
    ['the server fails for one family and has no address of the other', { AAAA: 'SERVFAIL' }],
  ])('a lookup fails with EAI_AGAIN if %s', async (_, data) => {
    server.names.set('shop.example', data)
    await expect(namesBy([server], { queryTimeoutMs: 50 })('shop.example')).rejects.toMatchObject({
      code: 'EAI_AGAIN',
    })
  })

  it('a lookup fails with EAI_AGAIN if no DNS server is reachable', async () => {
    await expect(namesBy(['127.0.0.1:1'])('shop.example')).rejects.toMatchObject({
      code: 'EAI_AGAIN',
    })
  })

  it('a lookup ends after 5 seconds, whatever the number of silent servers', async () => {
    server.names.set('shop.example', 'silence')
    const silent = await startDnsServer({ 'shop.example': 'silence' })
    const another = await startDnsServer({ 'shop.example': 'silence' })
    const began = performance.now()
    const of = (...servers: DnsServer[]) => namesBy(servers)('shop.example')
    const ends = await Promise.allSettled([of(server), of(server, silent, another)])
    expect(ends).toMatchObject([
      { reason: { code: 'EAI_AGAIN' } },
      { reason: { code: 'EAI_AGAIN' } },
    ])
    // Two queries of two seconds to each of three servers would take twelve seconds.
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(silent.queries).toContain('A shop.example')
  })
})

describe('a name in the hosts file', () => {
  const written = async (text: string) => {
    const hostsFile = path.join(directory, 'hosts')
    await writeFile(hostsFile, text)
    return { hostsFile, resolve: namesBy([server], { hostsFile }) }
  }

  it('a name in the hosts file is not queried in DNS', async () => {
    const { resolve } = await written(
      [
        '# made by hand',
        `${SIX}\tshop.example  Alias.Example. # 10.0.0.1 comment.example`,
        `  ${FOUR} shop.example\r`,
        '#10.0.0.1 unused.example',
        '0.0.0.0 blocked.example',
        'no-address nobody.example',
        '',
      ].join('\n'),
    )
    for (const hostname of ['shop.example', 'shop.example.', 'SHOP.example']) {
      expect(await resolve(hostname)).toEqual([FOUR, SIX])
    }
    expect(await resolve('alias.example')).toEqual([SIX])
    expect(await resolve('blocked.example')).toEqual(['0.0.0.0'])
    expect(server.queries).toEqual([])
    for (const hostname of ['unused.example', 'comment.example', 'nobody.example', 'example']) {
      await expect(resolve(hostname)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    }
  })

  it('lookups use a changed or removed hosts file without a restart', async () => {
    server.names.set('shop.example', { A: [FOUR] })
    const { hostsFile, resolve } = await written('10.0.0.1 shop.example\n')
    const becomes = (address: string) =>
      until(`it is ${address}`, async () => (await resolve('shop.example'))[0] === address)
    await becomes('10.0.0.1')
    await writeFile(hostsFile, '10.0.0.2 shop.example\n')
    await becomes('10.0.0.2')
    await rm(hostsFile)
    await becomes(FOUR)
  })

  it('localhost is always the loopback address, whatever the hosts file and DNS contain', async () => {
    server.names.set('localhost', { A: [FOUR] })
    server.names.set('shop.localhost', { A: [FOUR] })
    const { resolve } = await written(`${FOUR} localhost shop.localhost\n`)
    for (const hostname of ['localhost', 'LOCALHOST.', 'shop.localhost', 'a.shop.localhost.']) {
      expect(await resolve(hostname)).toEqual(['127.0.0.1', '::1'])
    }
    await expect(resolve('notlocalhost')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })
})

describe('names with silent DNS servers', () => {
  it('unanswered DNS lookups block neither other lookups nor file access', async () => {
    server.names.set('shop.example', { A: [FOUR] })
    const hanging = Array.from({ length: 20 }, (_, number) => `hanging-${number}.example`)
    for (const name of hanging) server.names.set(name, 'silence')
    const resolve = namesBy()
    let ended = 0
    for (const name of hanging) resolve(name).catch(() => ended++)
    await until('all lookups are under way', () => server.queries.length >= 2 * hanging.length)

    expect(await resolve('shop.example')).toEqual([FOUR])
    expect(await readFile(import.meta.filename, 'utf8')).toContain('silent DNS servers')
    expect(ended).toBe(0)
  })

  it('lookups work while every thread of the process is blocked', async () => {
    server.names.set('shop.example', { A: [FOUR] })
    const hostsFile = path.join(directory, 'hosts')
    await writeFile(hostsFile, '10.0.0.1 local.example\n')
    const pipe = path.join(directory, 'pipe')
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
    // Opening a pipe for reading blocks a thread until it is opened for writing. By default, there are four threads.
    const readers = Array.from({ length: 64 }, () => open(pipe, 'r'))
    let isFileRead = false
    const read = readFile(hostsFile).then(() => {
      isFileRead = true
    })
    onTestFinished(async () => {
      const writer = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
      for (const reader of await Promise.all(readers)) await reader.close()
      closeSync(writer)
      await read
    })

    const resolve = namesBy([server], { hostsFile })
    const found = Promise.all([resolve('shop.example'), resolve('local.example')])
    expect(await found).toEqual([[FOUR], ['10.0.0.1']])
    expect(isFileRead).toBe(false)
  })
})
