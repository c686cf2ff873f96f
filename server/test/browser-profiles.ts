import type { Browser, BrowserContext, Page } from 'playwright-core'

/** Generous, because the machine of a test may be busy. */
const TIMEOUT_MS = 60_000

/** A picture of one pixel. */
const PICTURE = {
  responseHeaders: [{ name: 'content-type', value: 'image/svg+xml' }],
  body: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>').toString(
    'base64',
  ),
}

/** Options of a profile that can't be changed later. */
export type ProfileOptions = {
  /** The pointer is a finger, as on a phone and a tablet. */
  hasTouch?: boolean
  timeZone?: string
  /** Runs in each page before its own scripts, such as to remove a function that not every supported browser has. */
  script?: string
  /** Its cache has no file of the program, unlike that of a used one. */
  isNew?: boolean
}

/** A page in a context without cookies and stored data of other tests. */
export type Profile = {
  context: BrowserContext
  page: Page
  /** Removes what the test has left. The next test with the same options gets the profile, with the program in its cache. */
  release(origin: string): Promise<void>
}

/** Profiles of a browser. A used one opens a page with two thirds of the CPU time of a new one. */
export function profilesOf(browser: Browser) {
  const released = new Map<string, Profile[]>()
  return async ({ isNew, ...options }: ProfileOptions): Promise<Profile> => {
    const key = JSON.stringify(options)
    const profiles = isNew ? [] : (released.get(key) ?? [])
    if (!isNew) released.set(key, profiles)
    return profiles.pop() ?? newProfile(browser, options, (profile) => profiles.push(profile))
  }
}

async function newProfile(
  browser: Browser,
  { hasTouch, timeZone, script }: ProfileOptions,
  onRelease: (profile: Profile) => unknown,
): Promise<Profile> {
  const context = await browser.newContext({
    hasTouch,
    locale: 'en-GB',
    timezoneId: timeZone,
    reducedMotion: 'reduce',
  })
  // Also of the pages that a test opens next to this one.
  context.setDefaultTimeout(TIMEOUT_MS)
  if (script) await context.addInitScript(script)
  // Playwright has no public call that gives the pages of a context the real clock back.
  let hasOwnTime = false
  context.clock = new Proxy(context.clock, {
    get(clock, name) {
      hasOwnTime = true
      return Reflect.get(clock, name)
    },
  })
  const page = await context.newPage()
  const session = await context.newCDPSession(page)

  // Pictures of cards. A route of Playwright would hold each request of the page, and turn off its cache.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session
      .send('Fetch.fulfillRequest', { requestId, responseCode: 200, ...PICTURE })
      // The page may have been left meanwhile.
      .catch(() => {})
  })
  await session.send('Fetch.enable', {
    patterns: [{ urlPattern: 'https://*', resourceType: 'Image' }],
  })

  const profile: Profile = {
    context,
    page,
    async release(origin) {
      if (hasOwnTime || !page.url().startsWith(origin)) return context.close()
      for (const other of context.pages()) if (other !== page) await other.close()
      for (const event of ['console', 'pageerror', 'request', 'dialog']) {
        page.removeAllListeners(event)
      }
      for (const event of ['page', 'request', 'requestfinished', 'requestfailed']) {
        context.removeAllListeners(event)
      }
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.setOffline(false)
      await page.evaluate('sessionStorage.clear()')
      // A page with input that is not saved asks whether to leave it.
      page.on('dialog', (question) => question.accept())
      await page.goto('about:blank')
      page.removeAllListeners('dialog')
      await page.mouse.move(0, 0)
      // This includes the cookies.
      await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
      onRelease(profile)
    },
  }
  return profile
}
