import { beforeAll, describe, expect, it } from 'vitest'
import { type BrowserApp, chromiumPath, startBrowserApp } from '../../test/browser.ts'

describe.skipIf(!chromiumPath)('the API reference', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp()
  })

  it('the API reference says that it is loading until its script has arrived, and does nothing that its Content-Security-Policy blocks', async () => {
    // The browser reports a blocked eval to this event alone, not to the console.
    const page = await app.open('/signin', {
      script: `
        globalThis.blocked = []
        addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
          blocked.push(effectiveDirective + ' ' + blockedURI))
      `,
    })
    const arrived = Promise.withResolvers<void>()
    await page.route(/scalar\.js/, async (route) => {
      await arrived.promise
      await route.continue()
    })
    await page.goto(`${app.address}/docs`, { waitUntil: 'commit' })
    await page.getByText('The API reference is loading.').waitFor()
    await page.getByRole('link', { name: 'guides' }).waitFor()
    arrived.resolve()
    await page
      .getByRole('heading', { name: /Cardstall/ })
      .first()
      .waitFor()
    expect(await page.getByText('The API reference is loading.').count()).toBe(0)
    await page.getByRole('button', { name: 'Test Request' }).first().waitFor()
    expect(await page.evaluate('blocked')).toEqual([])
  })

  it('the script of the API reference is compressed for clients that accept it', async () => {
    const load = async (encoding: string) => {
      const headers = { 'accept-encoding': encoding }
      const response = await fetch(`${app.address}/docs/scalar.js`, { headers })
      expect(response.headers.get('vary')).toContain('accept-encoding')
      return { sent: response.headers.get('content-encoding'), text: await response.text() }
    }
    const [compressed, plain] = [await load('gzip, br'), await load('identity')]
    expect([compressed.sent, plain.sent]).toEqual(['gzip', null])
    expect(compressed.text).toBe(plain.text)
  })
})
