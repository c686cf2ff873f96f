import { expect, it } from 'vitest'
import { foreignOrigin } from './own-origin.ts'

const refusal = (publicUrl: string, origin: string | undefined, method = 'POST', sandbox = false) =>
  foreignOrigin({ method, headers: { origin } } as never, { publicUrl, sandbox })
const isRefused = (...request: Parameters<typeof refusal>) => refusal(...request) !== undefined

it('a write needs the Origin of PUBLIC_URL', () => {
  const publicUrl = 'https://cards.example/shop'
  expect(isRefused(publicUrl, 'https://cards.example')).toBe(false)
  expect(isRefused(publicUrl, undefined, 'GET')).toBe(false)
  for (const origin of [
    undefined,
    '',
    'null',
    'http://cards.example',
    'https://cards.example:444',
    'https://www.cards.example',
    'https://cards.example/',
    'http://localhost',
  ]) {
    expect(isRefused(publicUrl, origin), origin).toBe(true)
  }
})

it('a service on this computer accepts every name of this computer, with its own port', () => {
  for (const own of ['localhost', '127.0.0.1', '[::1]']) {
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      expect(isRefused(`http://${own}:3000`, `http://${name}:3000`)).toBe(false)
      expect(isRefused(`http://${own}:3000`, `http://${name}:3001`)).toBe(true)
      expect(isRefused(`http://${own}:3000`, `https://${name}:3000`)).toBe(true)
    }
    expect(isRefused(`http://${own}:3000`, 'http://evil.example:3000')).toBe(true)
    expect(isRefused(`http://${own}:3000`, 'http://user@localhost:3000')).toBe(true)
  }
})

it('a sandbox that is used at another address than PUBLIC_URL names that setting', () => {
  const [publicUrl, origin] = ['http://localhost:3000', 'http://192.168.1.5:3000']
  expect(refusal(publicUrl, origin, 'POST', true)?.message).toBe(
    'Only pages of http://localhost:3000 may send this request. Open the service there, or start it with the address that you use as PUBLIC_URL.',
  )
  expect(refusal(publicUrl, origin)?.message).not.toContain('PUBLIC_URL')
})
