import { expect, it } from 'vitest'
import { foreignOrigin } from './own-origin.ts'

const isRefused = (publicUrl: string, origin: string | undefined, method = 'POST') =>
  foreignOrigin({ method, headers: { origin } } as never, { publicUrl }) !== undefined

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
