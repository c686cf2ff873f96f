import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import type { Db } from './database/sql.ts'
import { loggableError } from './log.ts'
import { testDatabase } from './test/database.ts'

let db: Db
beforeAll(async () => {
  ;({ db } = await testDatabase())
  await db`create table buyers (name text unique, born date not null, age integer check (age > 0))`
  await db`insert into buyers values ('Misty Waterflower', '1990-01-01', 10)`
})

const logged = async (work: Promise<unknown>) =>
  loggableError(await work.catch((error) => error)) as Record<string, unknown>

it('a constraint violation is logged with code, table and constraint, but without the row', async () => {
  for (const [work, code] of [
    [db`insert into buyers values ('Misty Waterflower', '1990-01-01', 1)`, '23505'],
    [db`insert into buyers values ('Misty Waterfall', null, 1)`, '23502'],
    [db`insert into buyers values ('Misty Waterfall', '1990-01-01', -1)`, '23514'],
  ] as const) {
    const error = await logged(work)
    expect(error).toMatchObject({ code, schema: 'public', table: 'buyers' })
    expect(error.stack).toContain('    at ')
    expect(JSON.stringify(error)).not.toMatch(/Misty|1990/)
  }
})

it('database messages that quote a value or come from a function are not logged', async () => {
  const values = [
    db.unsafe(`select 'Misty'::text::integer`),
    db.unsafe(`do $$ begin raise exception 'Misty'; end $$`),
  ]
  for (const work of values) expect(JSON.stringify(await logged(work))).not.toContain('Misty')
})

it('a missing privilege is logged with the name of the table, but without the statement', async () => {
  const asGuest = (statement: string) =>
    logged(db.unsafe(`create role log_guest; set local role log_guest; ${statement}`))
  for (const [statement, message] of [
    ['drop table buyers', 'must be owner of table buyers'],
    [`insert into buyers values ('Misty')`, 'permission denied for table buyers'],
  ] as const) {
    const error = await asGuest(statement)
    expect(error).toMatchObject({ code: '42501', message })
    expect(JSON.stringify(error)).not.toContain('Misty')
  }
})

it('statement and values of a failed statement are not logged, not even in causes', async () => {
  const cause = await db`insert into buyers values (${'Misty Waterflower'}, now(), 1)`.catch(
    (error) => error,
  )
  const error = loggableError(new Error('wrapped', { cause })) as Record<string, unknown>
  expect(error).toMatchObject({ message: 'wrapped', cause: { code: '23505' } })
  expect(JSON.stringify(error)).not.toMatch(/Misty|insert/)
})

it('a mail server’s error is logged by its code, without the recipient in it', () => {
  const refused = Object.assign(new Error('550 <misty@mail.example> is unknown'), {
    code: 'EENVELOPE',
    responseCode: 550,
    response: '550 <misty@mail.example> is unknown',
    rejected: ['misty@mail.example'],
  })
  const error = loggableError(refused)
  expect(error).toMatchObject({ code: 'EENVELOPE', responseCode: 550 })
  expect(JSON.stringify(error)).not.toContain('misty')
})

it('an error about a text that is not JSON is logged without the text', async () => {
  const parse = async () => JSON.parse('Misty Waterflower')
  const cause = await parse().catch((error) => error)
  expect(cause.message).toContain('Misty')
  const error = loggableError(new Error('The response is not JSON.', { cause }))
  expect(error).toMatchObject({ message: 'The response is not JSON.' })
  expect(error).toMatchObject({ cause: { type: 'SyntaxError', stack: expect.any(String) } })
  expect(JSON.stringify(error)).not.toContain('Misty')
})

it('a circular cause and a thrown value that is not an error can be logged', () => {
  const error = new Error('round')
  error.cause = error
  expect(loggableError(error)).toMatchObject({ message: 'round', cause: { message: 'round' } })
  expect(loggableError('svc_live_secret')).toEqual({ type: 'string' })
})

it.each([
  { of: 'a seller', account: 12 },
  { of: 'anyone else', account: undefined },
])('the line of a response to $of is the one that the logger would write', async ({ account }) => {
  const fields = {
    reqId: 'req_1',
    account,
    method: 'GET',
    path: '/v1/"\\\u0001é',
    status: 200,
    ms: 0.25,
  }
  const write = `
    import { createLog } from './server/log.ts'
    const { log, flush } = createLog(process.argv[1], { process: 2 })
    const fields = ${JSON.stringify(fields)}
    log.response(fields, 'OK')
    log.info(fields, 'OK')
    flush()
  `
  const lines = async (level: string) => {
    const parameters = ['--input-type=module-typescript', '-e', write, level]
    const { stderr } = await promisify(execFile)(process.execPath, parameters)
    return stderr.split('\n').filter(Boolean)
  }
  const [own, usual] = await lines('info')
  const withoutTime = (line = '') =>
    line.replace(/"time":"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z"/, '"time"')
  expect(withoutTime(own)).toBe(withoutTime(usual))
  expect(withoutTime(own)).toContain('{"level":30,"time","process":2,')
  expect(await lines('warn')).toEqual([])
})

it('lines that a slow reader leaves no room for are lost and counted, so that memory stays bounded', async () => {
  const write = `
    import { createLog } from './server/log.ts'
    const { log } = createLog('info')
    for (let i = 0; i < 3_000; i++) log.info('x'.repeat(10_000))
    process.stdout.write('written')
    process.stdin.resume()
  `
  const parameters = ['--input-type=module-typescript', '-e', write]
  const child = spawn(process.execPath, parameters, { stdio: 'pipe' })
  await once(child.stdout, 'data')
  let text = ''
  let kept = 0
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    const lines = (text + chunk).split('\n')
    text = lines.pop()!
    for (const line of lines) {
      const { msg, lost } = JSON.parse(line)
      if (lost === undefined) kept++
      else expect(msg).toBe('lines of the log were lost, because its reader is too slow')
      if (kept + (lost ?? 0) === 3_000) child.stdin.end()
    }
  }
  expect(kept).toBeGreaterThan(100)
  expect(kept).toBeLessThan(1_000)
})

it('lines of several processes that share a slow reader are not mixed', async () => {
  const write = `
    import { createLog } from './server/log.ts'
    const { log } = createLog('info', { pid: process.pid })
    for (let i = 0; i < 3_000; i++) log.info('x'.repeat(150))
    process.stdout.write('written')
    process.stdin.resume()
  `
  const both =
    'exec 3<&0; for i in 1 2; do "$0" --input-type=module-typescript -e "$1" <&3 & done; wait'
  const child = spawn('sh', ['-c', both, process.execPath, write], { stdio: 'pipe' })
  let written = ''
  while (written !== 'written'.repeat(2)) written += (await once(child.stdout, 'data'))[0]
  let text = ''
  let count = 0
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    const lines = (text + chunk).split('\n')
    text = lines.pop()!
    for (const line of lines)
      expect(line).toMatch(/^\{"level":30,"time":"[^"]*","pid":\d+,"msg":"x{150}"\}$/)
    count += lines.length
    if (count === 6_000) child.stdin.end()
  }
  expect(count).toBe(6_000)
})
