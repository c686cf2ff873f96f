import postgres from 'postgres'
import { expect, it } from 'vitest'
import { DatabaseUnavailable, isUnavailable, outageLog } from './unavailable.ts'

// biome-ignore lint/suspicious/noExplicitAny: the class is public, its constructor's type is not
const answered = (code: string) => new (postgres.PostgresError as any)({ message: 'no', code })
const failed = (code: string) => Object.assign(new Error('no'), { code })
const ofStatement = (code: string) => Object.assign(failed(code), { query: 'select 1' })

it.each([
  ['a connection refused while a statement waited', ofStatement('ECONNREFUSED')],
  ['a connection reset under a statement', ofStatement('ECONNRESET')],
  ['a pipe broken under a statement', ofStatement('EPIPE')],
  ['a host that is not found', ofStatement('ENOTFOUND')],
  ['a connection the client saw closed', failed('CONNECTION_CLOSED')],
  ['a connection the client ended', failed('CONNECTION_ENDED')],
  ['a connection the client destroyed', failed('CONNECTION_DESTROYED')],
  ['a connection that did not come up in time', failed('CONNECT_TIMEOUT')],
  ['our own time limit', new DatabaseUnavailable('too long')],
  ['08006 connection failure', answered('08006')],
  ['57P01 admin shutdown', answered('57P01')],
  ['57P02 crash shutdown', answered('57P02')],
  ['57P03 cannot connect now', answered('57P03')],
  ['53100 disk full', answered('53100')],
  ['53200 out of memory', answered('53200')],
  ['53300 too many connections', answered('53300')],
  ['57014 statement timeout', answered('57014')],
  ['55P03 lock timeout', answered('55P03')],
  ['25006 read-only database', answered('25006')],
  ['25P03 idle in transaction timeout', answered('25P03')],
  ['25P04 transaction timeout', answered('25P04')],
  ['40001 serialization failure', answered('40001')],
  ['40P01 deadlock', answered('40P01')],
  ['58030 I/O error', answered('58030')],
])('%s means that the database is unavailable', (_, error) => {
  expect(isUnavailable(error)).toBe(true)
})

it.each([
  ['a connection reset of another socket', failed('ECONNRESET')],
  ['a connection of another service refused', failed('ECONNREFUSED')],
  ['23505 unique violation', answered('23505')],
  ['22P02 invalid text', answered('22P02')],
  ['42P01 undefined table', answered('42P01')],
  ['25P02 failed transaction', answered('25P02')],
  ['57P04 database dropped', answered('57P04')],
  ['an error without a code', new Error('no')],
  ['a thrown text', 'ECONNRESET'],
  ['nothing', undefined],
])('%s does not mean that the database is unavailable', (_, error) => {
  expect(isUnavailable(error)).toBe(false)
})

it('each deadlock is logged as one, and does not hide a warning about an outage', () => {
  const logged: unknown[] = []
  const warn = outageLog({ warn: (_: object, message?: string) => logged.push(message) })
  for (const code of ['40P01', '57P01', '57P01', '40P01']) warn({ err: answered(code) })
  const deadlock = 'a deadlock ended a transaction'
  expect(logged).toEqual([deadlock, 'the database is unavailable', deadlock])
})
