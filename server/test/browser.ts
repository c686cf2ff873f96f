import { accessSync, constants, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import {
  type BrowserContext,
  chromium,
  type Download,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { type SignedInClient, startTestApp, type TestApp, type TestAppOptions } from './app.ts'
import { type ProfileOptions, profilesOf } from './browser-profiles.ts'
import { buildProgram } from './build.ts'
import { freePort } from './free-port.ts'
import { whenFileEnds } from './when-file-ends.ts'

/** Where Debian installs Chromium. The shell without windows comes first, because it needs half of the CPU time. */
const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** The Chromium of `CHROMIUM` or of Debian. Tests are skipped without one: `describe.skipIf(!chromiumPath)`. */
export const chromiumPath = (process.env.CHROMIUM ? [process.env.CHROMIUM] : INSTALLED).find(
  isExecutable,
)

if (!chromiumPath) {
  console.warn(
    `SKIPPED: the tests in a browser. There is no Chromium at CHROMIUM, or at ${INSTALLED.join(' or ')}` +
      ' (apt-get install chromium-headless-shell).',
  )
}

const ARGUMENTS = [
  '--no-sandbox',
  // Pictures of cards are on other hosts, which a test must not ask.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  // A page lives for seconds: optimizing its code would cost more CPU time than it saves.
  '--js-flags=--no-opt --no-maglev',
  // Most profiles have one page: Chromium would start a process for the next one in advance.
  '--renderer-process-limit=1',
]

type PageOptions = ProfileOptions & {
  /** Width of the window in pixels. */
  width?: number
  scheme?: 'light' | 'dark'
  /** Signed in from the start. */
  member?: SignedInClient
  /** Messages of the console that the test causes on purpose, such as a failed request. */
  expects?: RegExp
}

export type BrowserApp = TestApp & {
  address: string
  /** Opens a page in a profile without data of others. The test fails on any error, CSP message, or request to another host. */
  open(path: string, options?: PageOptions): Promise<Page>
}

/** Starts the whole service on a port, with the built dashboard, and a browser. Call it in `beforeAll`. */
export async function startBrowserApp(options: TestAppOptions = {}): Promise<BrowserApp> {
  await buildProgram()
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const app = await startTestApp({
    ...options,
    settings: { PUBLIC_URL: address, ...options.settings },
  })
  await app.app.listen({ port, host: '127.0.0.1' })
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ARGUMENTS })
  whenFileEnds(() => browser.close())
  const takeProfile = profilesOf(browser)
  return {
    ...app,
    address,
    open: (path, options) => openPage(takeProfile, address + path, options),
  }
}

async function openPage(
  takeProfile: ReturnType<typeof profilesOf>,
  url: string,
  {
    width = 1280,
    hasTouch = false,
    scheme = 'light',
    timeZone = 'Europe/Berlin',
    member,
    expects,
    script,
    isNew,
  }: PageOptions = {},
): Promise<Page> {
  const profile = await takeProfile({ hasTouch, timeZone, script, isNew })
  const { context, page } = profile
  const { host, origin } = new URL(url)
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: scheme, forcedColors: null, media: null })
  if (member) {
    const [name, value] = member.cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url: origin, httpOnly: true, sameSite: 'Lax' }])
  }
  const unanswered = unansweredRequests(context)
  const problems: string[] = []
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return
    // The page asks again until the service is ready, which it is not while a busy machine keeps the database waiting.
    if (new URL(message.location().url, url).pathname === '/health/ready') return
    // Chromium ends requests when the machine's network changes, such as at the start of a container. The page repeats its reads.
    if (message.text().includes('ERR_NETWORK_CHANGED')) return
    problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('request', (request) => {
    const asked = new URL(request.url())
    // Pictures of cards are on other hosts.
    if (asked.protocol === 'data:' || request.resourceType() === 'image') return
    if (asked.host !== host) problems.push(`request to ${request.url()}`)
  })
  onTestFinished(async ({ task }) => {
    const failed = task.result?.state === 'fail'
    if (failed) await printState(context, unanswered)
    // A request that the end of the test interrupts, such as a refetch, must not fail in the handler of its route.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await (failed ? context.close() : profile.release(origin))
    expect(problems.filter((problem) => !expects?.test(problem))).toEqual([])
  })
  await page.goto(url)
  return page
}

/** The requests of all pages that have no complete response yet. */
function unansweredRequests(context: BrowserContext): Set<Request> {
  const unanswered = new Set<Request>()
  context.on('request', (request) => unanswered.add(request))
  const isOver = (request: Request) => unanswered.delete(request)
  context.on('requestfinished', isOver)
  context.on('requestfailed', isOver)
  return unanswered
}

/** Prints the pages of a failed test, because a failure on a busy machine can seldom be repeated. */
async function printState(context: BrowserContext, unanswered: Set<Request>): Promise<void> {
  for (const page of context.pages()) {
    const shown = await page.locator('body').ariaSnapshot({ timeout: 5_000 }).catch(String)
    console.error(`${page.url()}\n${shown}`)
  }
  for (const request of unanswered) {
    console.error(`No response yet: ${request.method()} ${request.url()}`)
  }
}

/**
 * Loses the response of the next request to an address: the service acts, and the page gets an error of the network, after
 * what happens meanwhile.
 */
export const loseResponse = (page: Page, address: string, meanwhile?: () => Promise<unknown>) =>
  page.route(
    address,
    async (route) => {
      await route.fetch()
      await meanwhile?.()
      await route.abort()
    },
    { times: 1 },
  )

/** Lets the service act on the next request to an address, and responds with the error of a proxy that has waited too long. */
export const timeOutResponse = (page: Page, address: string) =>
  page.route(
    address,
    async (route) => {
      await route.fetch()
      await route.fulfill({ status: 504 })
    },
    { times: 1 },
  )

type Held = {
  /** Holds only requests with this method. */
  method?: string
}

/** Holds the requests to an address until `release` is called. `sent` resolves when the page has sent the first one. */
export async function holdRequests(page: Page, address: string, { method }: Held = {}) {
  const sent = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await page.route(address, async (route) => {
    if (!method || route.request().method() === method) {
      sent.resolve()
      await released.promise
    }
    await route.continue()
  })
  return { sent: sent.promise, release: released.resolve }
}

/**
 * Holds the response to the next request to an address until `release` is called. `ready` resolves when the service has
 * acted.
 */
export async function holdResponse(page: Page, address: string, { method }: Held = {}) {
  const ready = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isHeld = false
  await page.route(address, async (route) => {
    if (isHeld || (method && route.request().method() !== method)) return route.continue()
    isHeld = true
    const response = await route.fetch()
    ready.resolve()
    await released.promise
    await route.fulfill({ response })
  })
  return { ready: ready.promise, release: released.resolve }
}

/** Goes to another address of the dashboard or console as a link does, without loading the program again. */
export const visit = (page: Page, path: string) =>
  page.evaluate(`history.pushState(null, '', '${path}')`)

/** Clicks on a control, and returns the file that the page downloads. */
export async function downloadBy(page: Page, control: Locator): Promise<Download> {
  const [file] = await Promise.all([page.waitForEvent('download'), control.click()])
  return file
}

/** A script that removes the Navigation API. */
export const REMOVE_NAVIGATION = 'delete window.NavigateEvent; delete window.navigation'

/** At most as many controls as a page has before the wanted one. */
const MAX_TABS = 60

/** Moves the focus to a control with Tab alone, as a person without a mouse does. */
export async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.waitFor()
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    if (await control.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${control} can't be reached with Tab.`)
}

type Injected = { axe: typeof axe }

/** The minified script: `axe.source` has 1.5 MB, which each page would get and parse. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Rules that axe lacks: a field's border stands out as 3 to 1 and its placeholder as 4.5 to 1; a list without markers has the
 * role, without which Safari's screen reader doesn't say that it is a list.
 */
const OWN_RULES = `axe.configure({
  checks: [{
    id: 'field-contrast',
    evaluate(field) {
      if (field.matches(':disabled, [type=checkbox], [type=radio]')) return true
      const { Color, getBackgroundColor, getContrast } = axe.commons.color
      const background = getBackgroundColor(field)
      const contrast = (property, part) => {
        const color = new Color()
        color.parseString(getComputedStyle(field, part)[property])
        return getContrast(background, color)
      }
      const hasBorder = parseFloat(getComputedStyle(field).borderTopWidth) > 0
      if (hasBorder && contrast('borderTopColor') < 3) return false
      return !field.placeholder || contrast('color', '::placeholder') >= 4.5
    },
  }, {
    id: 'list-role',
    evaluate: (list) =>
      getComputedStyle(list).listStyleType !== 'none' || list.matches('[role], nav *'),
  }],
  rules: [{
    id: 'field-contrast',
    selector: 'input, select, textarea',
    any: ['field-contrast'],
    metadata: { help: 'A field stands out from its background' },
  }, {
    id: 'list-role',
    selector: 'ul, ol',
    any: ['list-role'],
    metadata: { help: 'A list without markers has the role' },
  }],
})`

/** Fails on any violation that axe finds on the page, in light and dark. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    await page.evaluate(AXE)
    await page.evaluate(OWN_RULES)
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await page.evaluate(
      (options) => (globalThis as unknown as Injected).axe.run(options),
      {
        // The other reporters describe each element that has passed.
        reporter: 'no-passes' as const,
        // Only colours depend on the scheme.
        ...(colorScheme === 'dark' && { runOnly: ['color-contrast', 'field-contrast'] }),
      },
    )
    const found = violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
    }))
    expect(found, colorScheme).toEqual([])
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
