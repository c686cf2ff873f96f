import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { connectAlone } from './connect.ts'
import { splitSocket } from './socket.ts'

it('a database URL can name the folder of a Unix socket in each form that PostgreSQL documents', async () => {
  const { url } = await testDatabase('empty')
  const { username, password, port, pathname, searchParams } = new URL(url)
  const folder = encodeURIComponent(searchParams.get('host')!)
  const login = `${username}:${password}@`
  for (const [form, usesSocket] of [
    [url, true],
    [`postgres://${login}${folder}:${port}${pathname}`, true],
    [`postgresql://${login}db.invalid${pathname}?host=${folder}&port=${port}`, true],
    [`postgres://${login}127.0.0.1:${port}${pathname}`, false],
  ] as const) {
    const session = connectAlone(form)
    const [row] = await session`
      select inet_server_addr() is null as "usesSocket", '/' || current_database() as name
    `
    await session.end()
    expect(row).toEqual({ usesSocket, name: pathname })
  }
})

it('the socket of a URL without a port is that of the default port, and no part but the folder changes', () => {
  expect(splitSocket('postgres:///cards?host=/run/postgresql&application_name=a')).toEqual({
    address: 'postgres:///cards?application_name=a',
    path: '/run/postgresql/.s.PGSQL.5432',
  })
  const tcp = 'postgres://me:secret@a.example,b.example/cards?sslmode=require'
  expect(splitSocket(tcp)).toEqual({ address: tcp, path: undefined })
})
