import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_PATH_LENGTH, ownPath } from './own-path.ts'

const SITE = 'https://cards.example'

describe('the path after signing in', () => {
  it.each([
    ['/dashboard/orders?status=pending&q=a%20b#row-1', undefined],
    ['/', undefined],
    ['/dashboard/../cards/x', '/cards/x'],
    ['/dashboard?next=//evil.example', undefined],
    ['/%2f/evil.example', undefined],
  ])('%s stays on our own site', (next, path = next) => {
    expect(ownPath(next, SITE)).toBe(path)
  })

  it.each([
    undefined,
    '',
    'dashboard',
    'https://evil.example',
    'https://cards.example.evil.example',
    'javascript:alert(1)',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    '/a/..//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '/\u0000',
    '/dashboard\r\nSet-Cookie: a=b',
    `/${'a'.repeat(MAX_PATH_LENGTH)}`,
  ])('%j leads to the dashboard instead', (next) => {
    expect(ownPath(next, SITE)).toBe('/dashboard')
  })

  it('the dashboard is below the path of PUBLIC_URL', () => {
    expect(ownPath(undefined, 'https://cards.example/market/')).toBe('/market/dashboard')
  })

  it('no text leads a browser to another site', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2f',
      '@',
      ':',
      '?',
      '#',
      'evil',
      '\t',
    )
    const next = fc.oneof(
      fc.array(piece).map((pieces) => `/${pieces.join('')}`),
      fc.string().map((text) => `/${text}`),
    )
    fc.assert(
      fc.property(next, (text) => {
        const path = ownPath(text, SITE)
        expect(path).toMatch(/^\/(?![/\\])[!-~]*$/)
        expect(new URL(path, SITE).origin).toBe(SITE)
      }),
    )
  })
})
