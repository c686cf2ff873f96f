import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { dashboardBuild } from '../../dashboard/build.ts'
import { endSession } from '../../members/sessions.ts'
import type { SignedInClient } from '../../test/app.ts'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  REMOVE_NAVIGATION,
  startBrowserApp,
  visit,
} from '../../test/browser.ts'
import { MINUTES } from '../../time/units.ts'

/** The first page, compressed. */
const MAX_SCRIPT_BYTES = 230_000
const MAX_STYLE_BYTES = 20_000

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { level: 1, name }).waitFor()

const styleOf = (locator: Locator, property: string) =>
  locator.evaluate(
    (element, name) =>
      element.ownerDocument.defaultView!.getComputedStyle(element).getPropertyValue(name),
    property,
  )

/** Answers the page's question whether the service is ready, which takes long on a busy machine: otherwise reads pause. */
const keepReady = (page: Page) => page.route('**/health/ready', (route) => route.fulfill())

describe.skipIf(!chromiumPath)('the frame of the dashboard', { timeout: 120_000 }, () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp()
  })

  it('a signed-in member sees the shop, the pages and a heading, accessible on a phone and on a wide screen', async () => {
    const member = await app.member()
    for (const width of [360, 1280]) {
      const page = await app.open('/dashboard', { member, width })
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await expect.poll(() => page.title()).toBe('Overview – Cardstall')
      const menu = page.getByRole('button', { name: 'Menu' })
      if (width === 360) await menu.click()
      const navigation = page.getByRole('navigation', { name: 'Dashboard' })
      await navigation.getByRole('link', { name: 'Overview' }).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await expectAccessible(page)
      // A link closes the menu of a phone, also that of the current page, and so does Tab to the page, which it covers.
      await navigation.getByRole('link', { name: 'Overview' }).click()
      if (width === 1280) continue
      const closed = menu.and(page.locator('[aria-expanded=false]'))
      await closed.waitFor()
      await menu.click()
      await page.getByRole('button', { name: 'Sign out' }).press('Tab')
      await closed.waitFor()
    }
  })

  it('the banner of a sandbox names labels that cost money and e-mails that are sent', async () => {
    const page = await app.open('/dashboard', { member: await app.member() })
    await page.getByText('no money moves and no parcel ships').waitFor()
    await page.route('**/dashboard/api/me', async (route) => {
      const response = await route.fetch()
      const { data } = (await response.json()) as { data: object }
      const json = { data: { ...data, buys_labels: true, sends_mail: true } }
      await route.fulfill({ response, json })
    })
    await page.goto(`${app.address}/dashboard`)
    const banner = page.getByText('Everything here is test data')
    expect(await banner.textContent()).toBe(
      'Sandbox. Everything here is test data, but labels are real: the carrier charges for each one. E-mails are really sent.',
    )
  })

  it('the search behind Ctrl K leads to a page by keyboard alone, accessible on a phone', async () => {
    const page = await app.open('/dashboard', { member: await app.member(), width: 360 })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+K')
    const dialog = page.getByRole('dialog', { name: 'Search' })
    await dialog.getByRole('menuitem', { name: 'Payouts' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.type('to ship')
    await dialog.getByRole('menuitem', { name: 'Orders to ship' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dashboard/orders?status=pending')
    await page
      .getByRole('heading', { level: 1, name: 'Orders' })
      .and(page.locator(':focus'))
      .waitFor()
  })

  it('forced colours show the current page and the current tab; they and the usual colours show the focus in the search, whose entries look like those of menus', async () => {
    const page = await app.open('/dashboard/keys', { member: await app.member() })
    await page.emulateMedia({ forcedColors: 'active' })
    await page.locator('.tabs a').first().waitFor()
    const links = page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link')
    const tabs = page.locator('.tabs a')
    for (const [all, property] of [
      [links, 'outline-style'],
      [tabs, 'border-bottom-color'],
    ] as const) {
      const current = all.and(page.locator('[aria-current]'))
      const other = all.and(page.locator(':not([aria-current])')).first()
      expect(await styleOf(current, property)).not.toBe(await styleOf(other, property))
    }
    await page.keyboard.press('Control+K')
    await page.getByRole('menuitem', { name: 'Payouts' }).waitFor()
    await page.keyboard.press('ArrowDown')
    const focused = page.locator('.menu-item[data-focused]')
    await focused.waitFor()
    expect(await styleOf(focused, 'outline-style')).toBe('solid')
    await page.emulateMedia({ forcedColors: null })
    expect(await styleOf(focused, 'outline-style')).toBe('solid')
  })

  it('browsers are asked to put neither translations nor links for telephone numbers into the dashboard and the console: React could no longer change the texts that they replace', async () => {
    const page = await app.open('/dashboard', { member: await app.member() })
    for (const path of ['dashboard', 'console']) {
      await page.goto(`${app.address}/${path}`)
      expect([path, await page.evaluate('document.documentElement.translate')]).toEqual([
        path,
        false,
      ])
      expect(await page.locator('meta[name=google]').getAttribute('content')).toBe('notranslate')
      const links = page.locator('meta[name=format-detection][content="telephone=no"]')
      expect(await links.count()).toBe(1)
    }
  })

  it.each([
    ['upright', { width: 360 }],
    ['sideways', { width: 844, hasTouch: true }],
  ])(
    'fields on a phone that is held %s have at least 16 px, below which Safari zooms into them',
    async (_, phone) => {
      const page = await app.open('/dashboard', { member: await app.member(), ...phone })
      for (const [path, label] of [
        ['listings', 'Card, product or reference'],
        ['settings', 'Time zone'],
        ['webhooks/signature', 'Body'],
      ] as const) {
        await visit(page, `/dashboard/${path}`)
        await page.getByLabel(label).first().waitFor()
        const sizes = await page.evaluate(
          "[...document.querySelectorAll('main :is(input, select, textarea)')].map((field) => parseFloat(getComputedStyle(field).fontSize))",
        )
        expect(Math.min(...(sizes as number[])), path).toBeGreaterThanOrEqual(16)
      }
    },
  )

  it('a date field does not have the look of the system, with which Safari on a phone makes it wider than its column', async () => {
    const page = await app.open('/dashboard/orders', { member: await app.member() })
    for (const label of ['From', 'To']) {
      const field = page.getByLabel(label, { exact: true })
      expect([label, await styleOf(field, 'appearance')]).toEqual([label, 'none'])
    }
  })

  it('no page lets Safari enlarge its texts when a phone is held sideways', async () => {
    const page = await app.open('/dashboard', { member: await app.member() })
    for (const path of ['/dashboard', '/console', '/', '/docs/guides/', '/signin?switch']) {
      await page.goto(app.address + path)
      const adjusts = 'getComputedStyle(document.documentElement).webkitTextSizeAdjust'
      expect([path, await page.evaluate(adjusts)]).toEqual([path, '100%'])
    }
  })

  it('the end of a dialog can be scrolled above a keyboard on the screen, and that of a menu into a low window', async () => {
    const page = await app.open('/dashboard/keys/new', { member: await app.member(), width: 390 })
    const submit = page.getByRole('button', { name: 'Create key' })
    await submit.waitFor()
    await page.evaluate(`
      Object.defineProperty(visualViewport, 'height', { value: 450 })
      visualViewport.dispatchEvent(new Event('resize'))
    `)
    const lowest = () =>
      page.evaluate<number>(`
        document.querySelector('.overlay').scrollTo(0, 10_000)
        document.querySelector('.dialog').getBoundingClientRect().bottom
      `)
    await expect.poll(lowest).toBeLessThan(450)

    await page.goto(`${app.address}/dashboard/orders`)
    await page.setViewportSize({ width: 320, height: 120 })
    await page.getByRole('button', { name: 'Print everything to ship' }).press('Enter')
    await page.keyboard.press('End')
    const last = page.getByRole('menuitem').last().and(page.locator(':focus'))
    const bottom = async (locator: Locator) => {
      const { y, height } = (await locator.boundingBox())!
      return y + height
    }
    await expect
      .poll(async () => (await bottom(page.locator('.popover'))) - (await bottom(last)))
      .toBeGreaterThan(0)
  })

  it('a visitor without a session is sent to the sign-in page, which leads back', async () => {
    const page = await app.open('/dashboard/orders?status=pending', { expects: /status of 40[14]/ })
    await page.waitForURL('**/signin?next=*')
    expect(new URL(page.url()).searchParams.get('next')).toBe('/dashboard/orders?status=pending')
  })

  it('a lost connection is shown, and disappears by itself when the service is back, even if an attempt gets no answer', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /ERR_INTERNET_DISCONNECTED/,
    })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.context().setOffline(true)
    const banner = page.getByText('The connection to the service is lost.')
    await banner.waitFor()
    const attempt = Promise.withResolvers<void>()
    await page.route('**/health/ready', () => attempt.resolve(), { times: 1 })
    await attempt.promise
    await page.context().setOffline(false)
    await banner.waitFor({ state: 'detached' })
  })

  it('a page whose read fails says why and repeats it no more than twice, while the service can be reached', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /status of 503/,
    })
    await heading(page, 'Overview')
    await keepReady(page)
    await page.clock.install()
    const error = { type: 'service_unavailable', message: 'The read took too long.' }
    let reads = 0
    await page.route('**/dashboard/api/webhooks/deliveries', (route) => {
      reads++
      return route.fulfill({ status: 503, json: { error } })
    })
    await visit(page, '/dashboard/webhooks/deliveries')
    const failure = page.getByRole('alert').filter({ hasText: 'This could not be loaded' })
    await failure.getByText(error.message).waitFor()
    expect(await page.getByText('The connection to the service is lost.').count()).toBe(0)
    for (let seconds = 0; seconds < 20; seconds++) await page.clock.runFor(1_000)
    await failure.waitFor()
    expect(reads).toBe(3)
    await page.unrouteAll()
    await failure.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No deliveries yet').waitFor()
  })

  it.each([360, 1280])(
    'a lost connection is shown on a scrolled page of %i px, and its message covers no control with the focus',
    async (width) => {
      const page = await app.open('/dashboard/settings', {
        member: await app.member(),
        width,
        expects: /ERR_INTERNET_DISCONNECTED/,
      })
      await page.setViewportSize({ width, height: 400 })
      const field = page.getByRole('textbox').last()
      await field.focus()
      const top = async (locator: Locator) => (await locator.boundingBox())!.y
      const bottom = async (locator: Locator) => {
        const { y, height } = (await locator.boundingBox())!
        return y + height
      }
      // The field is at the top of the window, below the bar with the menu on a phone.
      const bar = width === 360 ? await bottom(page.locator('.side')) : 0
      await page.evaluate(`scrollBy(0, ${(await top(field)) - bar})`)
      await page.context().setOffline(true)
      const banner = page.locator('.banner.warn')
      await banner.waitFor()
      await expect.poll(() => top(banner)).toBeCloseTo(bar, 0)
      const isCovered = async () => (await top(field)) < (await bottom(banner)) - 0.5
      await expect.poll(isCovered).toBe(false)

      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      for (let tabs = 0; tabs < 10; tabs++) {
        await page.keyboard.press('Shift+Tab')
        const focused = page.locator('main :focus')
        if ((await focused.count()) === 0) break
        expect(await top(focused)).toBeGreaterThan((await bottom(banner)) - 0.5)
      }
    },
  )

  it('all tabs stay in the window when the page becomes narrower', async () => {
    const page = await app.open('/dashboard/keys/sessions', { member: await app.member() })
    await heading(page, 'Keys')
    const edges = () =>
      page.locator('.tabs a').evaluateAll((tabs) => tabs.map((tab) => tab.getBoundingClientRect()))
    const isWhole = async (width: number) =>
      (await edges()).every(({ left, right }) => left >= 0 && right <= width)
    for (const width of [280, 230]) {
      await page.setViewportSize({ width, height: 900 })
      await expect.poll(() => isWhole(width)).toBe(true)
    }
  })

  it('a page that was opened without a connection appears when the service is back, and the others work meanwhile', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /ERR_INTERNET_DISCONNECTED/,
    })
    await heading(page, 'Overview')
    await page.context().setOffline(true)
    const banner = page.getByText('The connection to the service is lost.')
    await banner.waitFor()
    await page.getByRole('link', { name: 'Payouts' }).click()
    await page.getByText('Loading…').filter({ visible: true }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await heading(page, 'Overview')
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.context().setOffline(false)
    await heading(page, 'Keys')
    await page.getByRole('link', { name: 'Payouts' }).click()
    await heading(page, 'Payouts')
  })

  it('a page is read again if its response breaks off in the middle', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONTENT_LENGTH_MISMATCH/,
    })
    await heading(page, 'Overview')
    const { server } = app.app
    const breakOff = (request: IncomingMessage, response: ServerResponse) => {
      if (!request.url?.startsWith('/dashboard/api/keys')) return
      server.off('request', breakOff)
      response.end = (body: unknown) => {
        response.write(String(body).slice(0, 5), () => response.destroy())
        return response
      }
    }
    server.prependListener('request', breakOff)
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('table', { name: 'API keys' }).waitFor()
    expect(server.listeners('request')).not.toContain(breakOff)
  })

  it('the code of each page and the account are requested before the first script has arrived, each once', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard', { member })
    await heading(page, 'Overview')
    const links = page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link')
    const addresses = await links.evaluateAll((all) =>
      all.map((link) => (link as unknown as { href: string }).href),
    )
    expect(addresses.length).toBeGreaterThan(5)
    for (const address of addresses) {
      const requested: string[] = []
      const next = await page.context().newPage()
      next.on('request', (request) => requested.push(new URL(request.url()).pathname))
      const script = await holdRequests(next, '**/dashboard/assets/frame-*.js')
      await next.goto(address, { waitUntil: 'commit' })
      await expect
        .poll(() => requested)
        .toEqual(expect.arrayContaining([expect.stringMatching(/page-.*js$/), '/dashboard/api/me']))
      script.release()
      await next.getByRole('heading', { level: 1 }).waitFor()
      // The settings read the account again by themselves, because they show it as it is now.
      const repeated = requested.filter((path, i) => requested.indexOf(path) < i)
      expect(repeated).toEqual(address.endsWith('/settings') ? ['/dashboard/api/me'] : [])
      await next.close()
    }
  })

  it('the sign-in page loads the files of the dashboard in advance', async () => {
    const { text } = await app.anyone.get('/dashboard')
    const named = [...text.matchAll(/assets\/[^"]+/g)].map(([file]) => `/dashboard/${file}`)
    expect(named.length).toBeGreaterThan(5)
    const page = await app.open('/docs')
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.goto(`${app.address}/signin`)
    await expect.poll(() => requested).toEqual(expect.arrayContaining(named))
  })

  it('the navigation stays in its place when the account arrives', async () => {
    const page = await app.open('/signin')
    const { cookie } = await app.member()
    const [name, value] = cookie.split('=') as [string, string]
    await page.context().addCookies([{ name, value, url: app.address }])
    const account = await holdRequests(page, '**/dashboard/api/me')
    await page.goto(`${app.address}/dashboard`)
    const link = page.getByRole('link', { name: 'Payouts' })
    const before = await link.boundingBox()
    account.release()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(await link.boundingBox()).toEqual(before)
  })

  it('a page appears as soon as its code has arrived, without a timer', async () => {
    const page = await app.open('/dashboard', { member: await app.member() })
    await page.clock.install()
    await page.reload()
    await heading(page, 'Overview')
    await page.clock.pauseAt(Date.now() + 1 * MINUTES)
    const requested = await holdRequests(page, '**/dashboard/assets/page-*.js')
    await page.getByRole('link', { name: 'Payouts' }).click()
    await requested.sent
    await page.getByText('Loading…').waitFor({ state: 'attached' })
    requested.release()
    await heading(page, 'Payouts')
  })

  it('a page whose code an update has removed asks to be loaded again, and the others work', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /404|CodeNotLoaded/,
    })
    await heading(page, 'Overview')
    await keepReady(page)
    await page.route('**/dashboard/assets/*', (route) => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'Payouts' }).click()
    await page.getByText('The dashboard was updated, or the connection was interrupted.').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Overview' }).click()
    await heading(page, 'Overview')
    await page.getByRole('link', { name: 'Payouts' }).click()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await heading(page, 'Payouts')
  })

  it('the search that could not be loaded says so, and opens when the service is back', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      isNew: true,
      expects: /ERR_INTERNET_DISCONNECTED/,
    })
    await heading(page, 'Overview')
    await page.context().setOffline(true)
    await page.keyboard.press('Control+K')
    await page.getByText('The search could not be loaded.').waitFor()
    await page.context().setOffline(false)
    await page.getByText('The connection to the service is lost.').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog', { name: 'Search' }).waitFor()
  })

  it('a page of the former member says so after a sign-in as another one, and changes nothing there', async () => {
    const page = await app.open('/dashboard/settings', {
      member: await app.member(),
      expects: /status of 409/,
    })
    await page.getByLabel('Name').fill('Misty’s Cards')
    const other = await app.member()
    const before = (await other.get('/dashboard/api/me')).body.data.account
    const [name, value] = other.cookie.split('=') as [string, string]
    await page.context().addCookies([{ name, value, url: app.address }])
    await page.getByRole('button', { name: 'Save shop' }).click()
    await page.getByRole('form').getByText('You have signed in as another member').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Misty’s Cards')
    expect((await other.get('/dashboard/api/me')).body.data.account).toEqual(before)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Reload the page' }).click()
    await page
      .getByLabel('Name')
      .and(page.locator(`[value="${before.shop_name}"]`))
      .waitFor()
    expect(await page.getByText('You have signed in as another member').count()).toBe(0)
  })

  it('a save whose session has ended keeps its input, and succeeds after a sign-in as the same member in another tab', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings', { member, expects: /status of 40[19]/ })
    await page.getByLabel('Name').fill('Misty’s Cards')
    await endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1))
    const form = page.getByRole('form')
    const save = form.getByRole('button', { name: 'Save shop' })
    await save.click()
    await form.getByText('Your session has ended.').waitFor()
    await expectAccessible(page)
    const link = form.getByRole('link', { name: 'Sign in' })
    expect(await link.getAttribute('target')).toBe('_blank')
    const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()])
    await tab.getByLabel('Password').waitFor()

    const signIn = ({ cookie }: SignedInClient) => {
      const [name, value] = cookie.split('=') as [string, string]
      return page.context().addCookies([{ name, value, url: app.address }])
    }
    const colleague = await app.member(member.accountId)
    await signIn(colleague)
    await save.click()
    await form.getByText('You have signed in as another member').waitFor()
    await signIn(await app.signInAgain(member))
    await save.click()
    await page.getByText('The shop was saved.').waitFor()
    await page.getByText('Your session has ended.').first().waitFor({ state: 'detached' })
    const { account } = (await colleague.get('/dashboard/api/me')).body.data
    expect(account.shop_name).toBe('Misty’s Cards')
  })

  it.each([
    { browser: 'a browser with the Navigation API', script: undefined },
    { browser: 'a browser without the Navigation API', script: REMOVE_NAVIGATION },
  ])(
    '$browser leaves a page with input that is not saved only after a question, also with Back and Forward',
    async ({ script }) => {
      const page = await app.open('/dashboard/settings/sign-in', {
        member: await app.member(),
        expects: /ERR_INTERNET_DISCONNECTED/,
        script,
      })
      expect(await page.evaluate("'NavigateEvent' in window")).toBe(!script)
      const questions: string[] = []
      let isLeft = false
      page.on('dialog', (dialog) => {
        questions.push(dialog.type())
        return isLeft ? dialog.accept() : dialog.dismiss()
      })
      const name = page.getByLabel('Name')
      const isThere = () => page.getByRole('button', { name: 'Save shop' }).waitFor()
      await page.getByRole('link', { name: 'Shop', exact: true }).click()
      await isThere()
      // An entry for Forward.
      await page.getByRole('link', { name: 'Shipping options' }).click()
      await page.waitForURL('**/settings/shipping')
      await page.goBack()
      await isThere()
      await page.context().setOffline(true)
      await page.getByText('The connection to the service is lost.').waitFor()
      await name.fill('Misty’s Cards')
      await page.getByRole('button', { name: 'Save shop' }).click()
      await page.getByRole('form').getByRole('alert').getByText(/./).waitFor()
      for (const leave of [
        () => page.evaluate('history.forward()'),
        () => page.evaluate('history.back()'),
        () => page.evaluate('history.forward()'),
        () => page.getByRole('link', { name: 'Payouts' }).click(),
        () => page.getByRole('link', { name: 'E-mail and password' }).click(),
        () => page.evaluate('history.back()'),
      ]) {
        questions.length = 0
        await leave()
        await expect.poll(() => questions).toEqual(['confirm'])
        await page.waitForURL('**/dashboard/settings')
        await isThere()
        expect(await name.inputValue()).toBe('Misty’s Cards')
      }

      await page.context().setOffline(false)
      await page.getByText('The connection to the service is lost.').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Save shop' }).click()
      await page.getByText('The shop was saved.').waitFor()
      questions.length = 0
      await page.getByRole('link', { name: 'Payouts' }).click()
      await heading(page, 'Payouts')
      await page.goBack()
      await isThere()
      expect(await name.inputValue()).toBe('Misty’s Cards')
      expect(questions).toEqual([])

      await name.fill('Brock’s Cards')
      await page.close({ runBeforeUnload: true })
      await expect.poll(() => questions).toEqual(['beforeunload'])
      isLeft = true
      await page.getByRole('link', { name: 'Payouts' }).click()
      await heading(page, 'Payouts')
      await page.goBack()
      await isThere()
      expect(await name.inputValue()).toBe('Misty’s Cards')

      // After a link to a part of the page, and after a reload, Back leads to the same pages.
      await page.getByRole('link', { name: 'Skip to the content' }).press('Enter')
      await page.waitForURL('**/settings#main')
      isLeft = false
      await name.fill('Brock’s Cards')
      questions.length = 0
      await page.evaluate('history.back()')
      await page.waitForURL('**/settings')
      expect(questions).toEqual([])
      await page.evaluate('history.forward()')
      await page.waitForURL('**/settings#main')
      expect(questions).toEqual([])
      await page.evaluate('history.go(-2)')
      await expect.poll(() => questions).toEqual(['confirm'])
      await page.waitForURL('**/settings#main')
      await isThere()
      expect(await name.inputValue()).toBe('Brock’s Cards')
      isLeft = true
      await page.reload()
      await isThere()
      await name.fill('Brock’s Cards')
      questions.length = 0
      await page.evaluate('history.go(-2)')
      await expect.poll(() => questions).toEqual(['confirm'])
      await page.waitForURL('**/settings/sign-in')
      await page.getByRole('heading', { name: 'Password' }).first().waitFor()
    },
  )

  it('a read that finds that the session has ended keeps input that is not saved', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings', { member, expects: /401/ })
    await page.getByLabel('Name').fill('Misty’s Cards')
    await endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1))
    await page.keyboard.press('Control+K')
    await page.getByRole('dialog', { name: 'Search' }).waitFor()
    await page.keyboard.type('charizard')
    await page.getByText('Your session has ended.').first().waitFor({ state: 'attached' })
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).toBe('Misty’s Cards')
  })

  it('a page that Back shows from the browser’s memory is read again: after a sign-out it leads to the sign-in page', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/orders', { member, expects: /401/ })
    await page.getByText('No orders yet').waitFor()
    await endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1))
    // Playwright keeps no pages in memory.
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    await heading(page, 'Sign in')
    expect(new URL(page.url()).searchParams.get('next')).toBe('/dashboard/orders')
  })

  it('a shipping option whose session has ended keeps its input', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings/shipping', { member, expects: /401/ })
    await page.getByRole('button', { name: 'Add an option' }).click()
    await page.getByLabel('Name').fill('Letter')
    await endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1))
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByRole('dialog').getByText('Your session has ended.').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Letter')
  })

  it('an address that leads to nothing says so, on every page and tab', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /status of 404/,
    })
    for (const path of [
      ...['nothing', 'nothing/at/all', 'overview', 'orders/abc', 'orders/7/x', 'orders/disputes/7'],
      ...['listings/abc', 'listings/999999', 'listings/new/x', 'payouts/foo', 'payouts/7/x'],
      ...['payouts/statements/2026-11', 'keys/foo', 'keys/new/x', 'webhooks/foo', 'webhooks/1'],
      ...['webhooks/deliveries/abc', 'settings/foo', 'settings/shipping/1'],
    ]) {
      await visit(page, `/dashboard/${path}`)
      await heading(page, 'There is no such page')
      expect(await page.getByRole('navigation').count(), path).toBe(1)
      await visit(page, '/dashboard/')
      await heading(page, 'Overview')
    }
    await page.goto(`${app.address}/dashboard/nothing`)
    await heading(page, 'There is no such page')
    await expectAccessible(page)
    await visit(page, '/dashboard/listings?listing=abc')
    await page
      .getByRole('dialog', { name: 'Listing abc' })
      .getByText('This doesn’t exist')
      .waitFor()
  })

  it('every address of the dashboard leads to its page and tab, which its title and heading name', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(),
      expects: /status of 404/,
    })
    const addresses: [path: string, title: string, tab?: string][] = [
      ['orders', 'Orders', 'Orders'],
      ['orders/', 'Orders'],
      ['orders/disputes', 'Orders', 'Disputes'],
      ['orders/reviews', 'Orders', 'Reviews'],
      ['listings?listing=', 'Listings'],
      ['listings/new', 'Add listing'],
      ['listings/import', 'Import listings'],
      ['payouts', 'Payouts', 'Payouts'],
      ['payouts/statements?month=2026-10', 'Payouts', 'Statements'],
      ['payouts/statements/', 'Payouts'],
      ['payouts/setup', 'Payouts', 'Bank account'],
      ['payouts/7', 'Payout'],
      ['keys', 'Keys', 'API keys'],
      ['keys/new', 'Keys'],
      ['keys/programs', 'Keys', 'Connected programs'],
      ['keys/sessions', 'Keys', 'Sessions'],
      ['webhooks', 'Webhooks', 'Endpoints'],
      ['webhooks/deliveries?event=order.created', 'Webhooks', 'Deliveries'],
      ['webhooks/deliveries/7', 'Delivery #7'],
      ['webhooks/signature', 'Webhooks', 'Signature checker'],
      ['settings', 'Settings', 'Shop'],
      ['settings/shipping', 'Settings', 'Shipping options'],
      ['settings/sign-in', 'Settings', 'E-mail and password'],
    ]
    const FIRST = [undefined, 'Orders', 'Payouts', 'API keys', 'Endpoints', 'Shop']
    for (const [path, title, tab] of addresses) {
      const isFirst = FIRST.includes(tab)
      await visit(page, `/dashboard/${path}`)
      await page
        .locator('h1')
        .filter({ hasText: new RegExp(`^${title}${isFirst ? '' : ` · ${tab}`}$`) })
        .waitFor()
      if (tab) await page.locator('.tabs [aria-current]', { hasText: tab }).waitFor()
      expect(await page.title()).toBe(`${isFirst ? '' : `${tab} · `}${title} – Cardstall`)
      await visit(page, '/dashboard/nothing')
      await heading(page, 'There is no such page')
    }
  })

  it('the first page stays within its budget of script and style', async () => {
    const { directory } = dashboardBuild()
    const page = await app.open('/dashboard', { member: await app.member() })
    await page.getByRole('heading', { level: 1 }).waitFor()
    const loaded = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => new URL(name).pathname)
        .filter((name) => name.startsWith('/dashboard/assets/')),
    )
    const names = await readdir(`${directory}/assets`)
    const sizeOf = async (extension: string) => {
      const files = names.filter((name) => name.endsWith(extension))
      const used = files.filter((name) => loaded.includes(`/dashboard/assets/${name}`))
      expect(used.length).toBeGreaterThan(0)
      const sizes = used.map(async (name) =>
        gzipSync(await readFile(`${directory}/assets/${name}`)),
      )
      return (await Promise.all(sizes)).reduce((sum, { length }) => sum + length, 0)
    }
    expect(await sizeOf('.js')).toBeLessThan(MAX_SCRIPT_BYTES)
    expect(await sizeOf('.css')).toBeLessThan(MAX_STYLE_BYTES)
  })
})
