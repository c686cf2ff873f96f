import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SignatureError, verify } from '../../sdk/src/webhooks.ts'
import { freePort } from '../test/free-port.ts'
import { newDirectory } from '../test/new-directory.ts'
import { until } from '../test/until.ts'
import { exampleUrl, shownBlocks } from '../test/webhooks-page.ts'

/**
 * Runs the documented code as a developer would: the blocks of docs/webhooks.md pasted into a program, and the receivers
 * of docs/examples as processes.
 */

const SECRET = `svc_whsec_${'x'.repeat(40)}`
const BODY = JSON.stringify({
  event: 'order.created',
  delivery_id: 8123,
  created_at: '2026-11-21T13:19:30Z',
  data: { item_name: 'リザードンVSTAR', buyer_name: 'Misty 💧', price: 4.5 },
})

type Language = {
  name: string
  /** The language of the code block in docs/webhooks.md. */
  fence: string
  example: string
  program: string
  isThere: boolean
  /** The block pasted into a program that reads cases from standard input and prints the result of each. */
  pasted(block: string): string
  serve(port: number): string[]
}

const isThere = (program: string) => spawnSync(program, ['--version']).status === 0

const LANGUAGES: Language[] = [
  {
    name: 'TypeScript',
    fence: 'ts',
    example: 'verify-webhook.ts',
    program: process.execPath,
    isThere: true,
    pasted: (block) => `${block}
      import { readFileSync } from 'node:fs'
      const cases = JSON.parse(readFileSync(0, 'utf8'))
      console.log(JSON.stringify(cases.map(({ secret, timestamp, signature, body }) =>
        verify(secret, timestamp, signature, Buffer.from(body, 'base64')))))
    `,
    serve: () => [fileURLToPath(exampleUrl('verify-webhook.ts'))],
  },
  {
    name: 'PHP',
    fence: 'php',
    example: 'verify_webhook.php',
    program: 'php',
    isThere: isThere('php'),
    pasted: (block) => `<?php
      error_reporting(E_ALL);
      ${block}
      echo json_encode(array_map(
        fn ($case) => verify($case['secret'], $case['timestamp'], $case['signature'], base64_decode($case['body'])),
        json_decode(file_get_contents('php://stdin'), true, 512, JSON_THROW_ON_ERROR)));
    `,
    serve: (port) => [
      // Without a php.ini, as in PHP's own images, PHP displays errors.
      '-n',
      ...['-S', `127.0.0.1:${port}`],
      fileURLToPath(exampleUrl('verify_webhook.php')),
    ],
  },
  {
    name: 'Python',
    fence: 'python',
    example: 'verify_webhook.py',
    program: 'python3',
    isThere: isThere('python3'),
    pasted: (block) => `${block}
import base64, json, sys
print(json.dumps([
    verify(case["secret"], case["timestamp"], case["signature"], base64.b64decode(case["body"]))
    for case in json.load(sys.stdin)
]))
`,
    serve: () => [fileURLToPath(exampleUrl('verify_webhook.py'))],
  },
]

for (const { name, program, isThere } of LANGUAGES) {
  if (isThere) continue
  console.warn(`SKIPPED: receiving webhooks in ${name}. There is no ${program} on PATH.`)
}

const secondsFromNow = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds)
const signatureOf = (timestamp: string, body: string | Buffer, secret = SECRET) =>
  createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')

type Case = { secret: string; timestamp: unknown; signature: unknown; body: string | Buffer }

/** A delivery signed like Cardstall does, with the given changes. */
function signed(
  { body = BODY, timestamp = secondsFromNow(0), secret = SECRET } = {} as {
    body?: string | Buffer
    timestamp?: string
    secret?: string
  },
): Case & { timestamp: string; signature: string } {
  return { secret, timestamp, body, signature: signatureOf(timestamp, body, secret) }
}

const GOOD: Record<string, Case> = {
  'what was signed': signed(),
  'an empty body': signed({ body: '' }),
  'a body that is not text': signed({ body: Buffer.from([0, 0xff, 0xc3, 0x28, 13, 10, 0x80]) }),
  'a long body': signed({ body: 'リザードン'.repeat(20_000) }),
  // Signed when it is read, because it is valid for half a minute.
  get 'a timestamp from a few minutes ago'() {
    return signed({ timestamp: secondsFromNow(-270) })
  },
}

/** The specification lets receivers reject old timestamps only (§5), so the examples work with a sandbox as they are. */
const AHEAD: Record<string, Case> = {
  'a timestamp far in the future, which the sandbox’s clock can produce': signed({
    timestamp: secondsFromNow(86_400),
  }),
}

const BAD: Record<string, Case> = {
  'a changed byte': { ...signed(), body: BODY.replace('4.5', '4.6') },
  'an additional byte': { ...signed(), body: `${BODY}\n` },
  'a body that was parsed and written again': {
    ...signed(),
    body: JSON.stringify(JSON.parse(BODY), null, 2),
  },
  'other escapes for the same text': { ...signed(), body: BODY.replace('リ', '\\u30ea') },
  'another secret': { ...signed(), secret: SECRET.replace('x', 'y') },
  'a secret without its prefix': { ...signed(), secret: SECRET.replace('svc_whsec_', '') },
  'an empty secret, even if the signature was made with it': signed({ secret: '' }),
  'a timestamp more than 300 s old': signed({ timestamp: secondsFromNow(-330) }),
  'another timestamp': { ...signed(), timestamp: secondsFromNow(-5) },
  'no timestamp': { ...signed(), timestamp: null },
  'no signature': { ...signed(), signature: null },
  'an empty signature': { ...signed(), signature: '' },
  'half a signature': { ...signed(), signature: signed().signature.slice(0, 32) },
  'a longer signature': { ...signed(), signature: `${signed().signature}00` },
  'an upper-case signature': {
    ...signed(),
    signature: signed().signature.toUpperCase(),
  },
  'a signature with a line end': { ...signed(), signature: `${signed().signature}\n` },
  'a signature that is not hexadecimal': { ...signed(), signature: 'g'.repeat(64) },
  'a signature that is not ASCII': { ...signed(), signature: 'é'.repeat(64) },
  'a signature in full-width digits': { ...signed(), signature: '０'.repeat(64) },
  'a number for a signature': { ...signed(), signature: 0 },
  'true for a signature': { ...signed(), signature: true },
  'a list of signatures': { ...signed(), signature: [signed().signature] },
  'a number for a timestamp': { ...signed(), timestamp: Number(secondsFromNow(0)) },
  'a list of timestamps': { ...signed(), timestamp: [signed().timestamp] },
  // Each of these timestamps has a matching signature.
  ...Object.fromEntries(
    Object.entries({
      'no digits': '',
      'a space': ' ',
      'a dot': '.',
      'a NUL': '\0',
      'a word': 'now',
      'no number': 'NaN',
      'a sign': `+${secondsFromNow(0)}`,
      'a space before': ` ${secondsFromNow(0)}`,
      'a line end': `${secondsFromNow(0)}\n`,
      'a fraction': `${secondsFromNow(0)}.0`,
      'an exponent': `${secondsFromNow(0)}e0`,
      hexadecimals: `0x${Number(secondsFromNow(0)).toString(16)}`,
      'Arabic digits': secondsFromNow(0).replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'[Number(digit)]!),
      'two times': `${secondsFromNow(0)}, ${secondsFromNow(0)}`,
      'too many digits': '9'.repeat(400),
    }).map(([what, timestamp]) => [`a timestamp of ${what}`, signed({ timestamp })]),
  ),
}

const directory = await newDirectory()
const children = new Set<ChildProcess>()
const killChildren = () => {
  for (const child of children) child.kill('SIGKILL')
}
// The test run may be interrupted.
process.once('exit', killChildren)
afterAll(() => {
  killChildren()
  process.off('exit', killChildren)
})

for (const language of LANGUAGES) {
  describe.skipIf(!language.isThere)(
    `the code for ${language.name}, pasted from docs/webhooks.md`,
    () => {
      let verdicts: Map<string, unknown>
      beforeAll(() => {
        const all = { ...GOOD, ...AHEAD, ...BAD }
        const answers = verdictsOf(language, Object.values(all))
        verdicts = new Map(Object.keys(all).map((title, i) => [title, answers[i]]))
      })

      it.each(Object.keys({ ...GOOD, ...AHEAD }))(
        `the ${language.name} example verification accepts %s`,
        (title) => {
          expect(verdicts.get(title)).toBe(true)
        },
      )

      it.each(Object.keys(BAD))(`the ${language.name} example verification refuses %s`, (title) => {
        expect(verdicts.get(title)).toBe(false)
      })
    },
  )

  describe.skipIf(!language.isThere)(`the receiver in ${language.name}, run as it is`, () => {
    let receiver: Receiver
    beforeAll(async () => {
      receiver = await startReceiver(language, { WEBHOOK_SECRET: SECRET })
    })

    it(`the ${language.name} example receiver answers a delivery with 204 and prints its event`, async () => {
      expect(await receiver.deliver(signed())).toBe(204)
      await until('the event is printed', () => receiver.output().includes('order.created 8123'))
    })

    it(`the ${language.name} example receiver accepts a body that arrives in many chunks`, async () => {
      const body = JSON.stringify({
        ...JSON.parse(BODY),
        delivery_id: 8124,
        data: { item_name: 'リザードン'.repeat(10_000) },
      })
      expect(await receiver.deliver(signed({ body }))).toBe(204)
      await until('the event is printed', () => receiver.output().includes('order.created 8124'))
    })

    it.each([
      'a changed byte',
      'a body that was parsed and written again',
      'a timestamp more than 300 s old',
      'no timestamp',
      'no signature',
      'an upper-case signature',
      'a signature that is not hexadecimal',
    ])(`the ${language.name} example receiver answers 401 to %s`, async (title) => {
      expect(await receiver.deliver(BAD[title]!)).toBe(401)
    })

    it(`the ${language.name} example receiver answers 401 to a signature with another secret`, async () => {
      expect(await receiver.deliver(signed({ secret: SECRET.replace('x', 'y') }))).toBe(401)
    })

    it(`the ${language.name} example receiver answers 401 to binary header values`, async () => {
      expect(await receiver.deliver({ ...signed(), signature: '\xff'.repeat(64) })).toBe(401)
      expect(await receiver.deliver({ ...signed(), timestamp: '\xb2\xb3' })).toBe(401)
    })

    it(`the ${language.name} example receiver refuses a body that is longer than any delivery`, async () => {
      const tooLong = signed({ body: 'x'.repeat(256 * 1024 + 1) })
      // A receiver that responds before it has read the whole body may close the connection before the response arrives.
      const outcome = await receiver.deliver(tooLong).catch(() => 'hung up')
      expect(outcome).toBeOneOf([413, 'hung up'])
      expect(await receiver.deliver(signed())).toBe(204)
    })

    it(`the ${language.name} example receiver answers 405 to GET`, async () => {
      const { status } = await fetch(receiver.url)
      expect(status).toBe(405)
    })

    it(`the ${language.name} example receiver survives a client that disconnects in the middle of a request`, async () => {
      const socket = connect(receiver.port, '127.0.0.1')
      socket.write('POST /hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"event"')
      await once(socket, 'connect')
      const closed = once(socket, 'close')
      socket.resetAndDestroy()
      await closed
      expect(await receiver.deliver(signed())).toBe(204)
    })

    it(`the ${language.name} example receiver answers a delivery that it cannot store with an error, so that it is repeated`, async () => {
      const unreadable = signed({ body: '{' })
      const outcome = await receiver.deliver(unreadable).catch(() => 'hung up')
      expect(outcome).toBeOneOf([500, 'hung up'])
      expect(await receiver.deliver(signed())).toBe(204)
    })

    it(`the ${language.name} example receiver accepts nothing without a secret`, async () => {
      const receiver = await startReceiver(language, {})
      const forged = signed({ secret: '' })
      // The receiver may refuse to start or respond with 500, but must not accept a signature that anyone could make.
      expect(await receiver.deliver(forged).catch(() => 'nobody there')).toBeOneOf([
        500,
        'nobody there',
      ])
      await until('the reason is printed', () => receiver.output().includes('Set WEBHOOK_SECRET'))
    })
  })
}

describe('verify of the TypeScript client', () => {
  // The values that a header can have.
  const isSent = ({ timestamp, signature }: Case) =>
    [timestamp, signature].every(
      (value) =>
        value === null || (typeof value === 'string' && /^(?! )[\x20-\x7e\x80-\xff]*$/.test(value)),
    )
  const sent = (cases: Record<string, Case>) =>
    Object.entries(cases).filter(([, delivery]) => isSent(delivery))
  const check = (
    { timestamp, signature, secret, body }: Case,
    options?: Parameters<typeof verify>[3],
  ) => {
    const headers = {
      'x-service-timestamp': (timestamp ?? undefined) as string | undefined,
      'x-service-signature': (signature ?? undefined) as string | undefined,
    }
    return verify(body, headers, secret, options)
  }

  it.each(sent(GOOD).map(([title]) => title))(
    'the TypeScript client accepts %s, as the examples do',
    async (title) => {
      // Its event is parsed afterwards, and not every body here is JSON.
      await check(GOOD[title]!).catch((error) => expect(error).toBeInstanceOf(SyntaxError))
    },
  )

  it.each(sent(BAD))(
    'the TypeScript client refuses %s, as the examples do',
    async (_, delivery) => {
      await expect(check(delivery)).rejects.toThrow(SignatureError)
    },
  )

  it.each(Object.entries(AHEAD))(
    'the TypeScript client accepts %s only if the receiver allows it, unlike the examples',
    async (_, delivery) => {
      await expect(check(delivery)).rejects.toThrow(SignatureError)
      const isAllowed = check(delivery, { toleranceSeconds: Number.POSITIVE_INFINITY })
      await expect(isAllowed).resolves.toHaveProperty('event')
    },
  )
})

/** Runs the block of docs/webhooks.md with these cases; returns the result of each. */
function verdictsOf(language: Language, cases: Case[]): unknown[] {
  const file = path.join(directory, `pasted${path.extname(language.example)}`)
  writeFileSync(file, language.pasted(shownBlocks(language.fence)[0]!))
  const input = cases.map((one) => ({ ...one, body: Buffer.from(one.body).toString('base64') }))
  const { stdout, stderr } = spawnSync(language.program, [file], {
    input: JSON.stringify(input),
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

type Receiver = {
  url: string
  port: number
  /** Standard output and standard error so far. */
  output(): string
  /** Posts a delivery; returns the status of the response. */
  deliver(delivery: Case): Promise<number>
}

/** Starts the example, and waits until it listens or has exited. */
async function startReceiver(
  language: Language,
  settings: Record<string, string>,
): Promise<Receiver> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/hook`
  const child = spawn(language.program, language.serve(port), {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: String(port), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  await until(`${language.example} listens`, async () => child.exitCode !== null || answers(port))
  return {
    url,
    port,
    output: () => output,
    async deliver({ timestamp, signature, body }) {
      const headers = new Headers({ 'content-type': 'application/json' })
      if (timestamp !== null) headers.set('x-service-timestamp', String(timestamp))
      if (signature !== null) headers.set('x-service-signature', String(signature))
      const { status } = await fetch(url, { method: 'POST', headers, body })
      return status
    },
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
