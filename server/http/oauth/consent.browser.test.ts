import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  startBrowserApp,
} from '../../test/browser.ts'
import { startWebServer } from '../../test/fakes/network.ts'
import { PASSWORD, sellerWithPassword } from '../../test/fixtures/members.ts'
import { authorizeUrl, exchange, register } from '../../test/fixtures/oauth.ts'

describe.skipIf(!chromiumPath)('allowing a program in a browser', { timeout: 120_000 }, () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp()
  })

  it('a seller signs in, unchecks a permission, and gets back to the program', async () => {
    // Programs often send the browser on, which a form-action of the consent page would forbid.
    const { port } = await startWebServer(({ url = '' }, response) => {
      if (url.startsWith('/done')) return response.end('Connected')
      const location = `http://localhost:${port}/done${url.replace(/^[^?]*/, '')}`
      return response.writeHead(302, { location }).end()
    })
    const redirect_uri = `http://127.0.0.1:${port}/callback`
    const clientId = await register(app, { redirect_uris: ['http://127.0.0.1/callback'] })
    const { email } = await sellerWithPassword(app)
    const resource = `${app.address}/mcp/seller`
    const asked = authorizeUrl(clientId, {
      redirect_uri,
      resource,
      scope: 'orders:read listings:read',
    })
    const expects = new RegExp(`request to http://(127.0.0.1|localhost):${port}/|status of 422`)
    const page = await app.open(asked, { width: 360, expects })
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()

    await page.getByRole('heading', { name: 'Allow Deck Doctor?' }).waitFor()
    await page.getByText('It runs on your computer').waitFor()
    await expectAccessible(page)
    const checkbox = page.getByRole('checkbox', { name: /names and addresses/ })
    // Enter in a checkbox sends the form with its first button.
    await checkbox.press('Enter')
    await page.getByText('Choose Allow or Refuse.').waitFor()
    await page.getByRole('heading', { name: 'Allow Deck Doctor?' }).waitFor()
    await expectAccessible(page)
    await checkbox.uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Connected').waitFor()
    const code = new URL(page.url()).searchParams.get('code')!
    const { body } = await exchange(app, clientId, code)
    expect(body.scope).toBe('listings:read')
  })
})
