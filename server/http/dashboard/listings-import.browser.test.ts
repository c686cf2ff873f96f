import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { endSession } from '../../members/sessions.ts'
import type { Client } from '../../test/app.ts'
import {
  type BrowserApp,
  chromiumPath,
  downloadBy,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  startBrowserApp,
} from '../../test/browser.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import { cardItem, items, list } from '../../test/fixtures/listings.ts'
import { chooseFile, DAY_S, expireKeys, newShop, readAgain } from '../../test/listings-page.ts'

/** A person's steps with checks of accessibility between them, on a busy machine. */
const TIMEOUT_MS = 180_000

/** Writes per minute, the check of a preview included: an import of five chunks has to wait. */
const WRITES = 4

const UNKNOWN = 'Unknown: it may be listed already. Check it before you import it again.'

describe.skipIf(!chromiumPath)('the import of listings', () => {
  let app: BrowserApp
  /** The clock of the rate limits, a second before the end of its minute. */
  let time = 59_000
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', rateLimitTime: () => time })
  })
  const nextMinute = () => {
    time += 60_000
  }

  const csvOf = (count: number) =>
    ['card,condition,language,price,quantity', ...Array(count).fill('sv3-125,NM,EN,1,1')].join('\n')

  it('the choice of a card for an ambiguous row applies to rows with the same identifier, hint and language, checks only these again, and is not lost without a question; one more chooses the card of each row’s language, if there is exactly one', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const checks: number[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/check')) checks.push(request.postDataJSON().items.length)
    })
    const languages = [',EN', 'DE,EN', 'EN,EN', ',EN', ',DE', ',FR']
    const rows = languages.map((both, i) => `brs_1,${both},NM,1,1,row ${i + 2}`)
    const header = 'card,language_hint,language,condition,price,quantity,description'
    await chooseFile(page, [header, ...rows].join('\n'))
    await page.getByText('2 rows can be listed').waitFor()
    const buttons = page.getByRole('listitem').filter({ hasText: 'Row 6' }).getByRole('button')
    expect(await buttons.first().textContent()).toContain('Use Owei')
    // No time passes between the two presses: only one at the same place would be the second of a double click.
    await page.clock.setFixedTime(Date.now())
    await page.getByRole('button', { name: 'Use Owei' }).first().click()
    await page.getByText('4 rows can be listed, 2 of them have warnings').waitFor()
    const warning = 'The item is from a set in DE, but its language is EN'
    await page.getByText(warning).first().waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Use the card of each row’s language (1 row)' }).click()
    await page.getByText(/^5 rows can be listed, 2 of them .*, 1 row has mistakes/).waitFor()
    expect(await page.getByRole('button', { name: 'of each row’s language' }).count()).toBe(0)
    const questions: string[] = []
    page.on('dialog', (dialog) => {
      questions.push(dialog.message())
      return dialog.dismiss()
    })
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('button', { name: 'List 5 rows' }).click()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    expect(questions).toHaveLength(1)
    expect(checks).toEqual([6, 2, 1])
    const listed = await app.ctx.db<{ description: string; card_id: string }[]>`
      select description, card_id from listings where account_id = ${seller.accountId}
      order by description
    `
    expect(listed.map(({ card_id: card }) => card)).toEqual([
      'swsh9-de-1',
      'swsh9-de-1',
      'swsh9-1',
      'swsh9-de-1',
      'swsh9-de-1',
    ])
  })

  it('an import lists the cards of its preview, also if an import of the catalog gives their friendly ids to other cards', async () => {
    const { seller, member } = await newShop(app)
    const numbered = (id: string, number: string) => {
      const names = { name: 'Espeon', number }
      return { type: 'card', id, set_id: 'sv3', ...names }
    }
    await importRecords(app.operator, [numbered('sv3-501', '501'), numbered('sv3-502', '502')])
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const rows = ['obf_501,EN,NM,EN,300,1', 'obf_502,EN,NM,EN,9,1']
    const header = 'card,language_hint,condition,language,price,quantity'
    await chooseFile(page, [header, ...rows].join('\n'))
    await page.getByText('2 rows can be listed').waitFor()
    await importRecords(app.operator, [numbered('sv3-501', '502'), numbered('sv3-502', '501')])
    await page.getByRole('button', { name: 'List 2 rows' }).click()
    await page.getByText('2 rows listed.').waitFor()
    const { data } = (await seller.get('/v1/listings')).body
    expect(data).toMatchObject([
      { price: 9, listable: { id: 'sv3-502' } },
      { price: 300, listable: { id: 'sv3-501' } },
    ])
  })

  it('the preview of an import shows what each row lists, counts the warnings among the rows that can be listed and the value of these, and names the columns that it ignores', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const rows = ['1,50;1;Foil;Matt;left;;', '1 050;1;;;;;', 'free;1;;;;;']
    const lines = [
      'price;Price;quantity;Finish type;Finish type;;empty;card;condition;language',
      ...rows.map((row) => `2;${row}sv3-125;NM;EN`),
    ]
    await chooseFile(page, lines.join('\n'))
    await page.getByText('The file has the column “price” twice. Choose the one to read.').waitFor()
    await page.getByLabel('price', { exact: true }).selectOption({ label: 'Price' })
    await page
      .getByText('2 rows can be listed, 1 of them has a warning, 1 row has mistakes.')
      .waitFor()
    await page
      .getByRole('status')
      .getByText('Preview: 2 rows without mistakes, 1 with mistakes', { exact: true })
      .waitFor()
    await page.getByText('price “1,50” was read as 1.50.').waitFor()
    const details = page.getByText('NM · EN · standard · €1,050.00 · 1 unit')
    expect(await details.count()).toBe(2)
    await page.getByText('2 listings, 2 units, total value €1,051.50.').waitFor()
    await page
      .getByText('Ignored columns: price, Finish type, Finish type (column 5), Column 6.')
      .waitFor()
    expect(await page.getByText('an export of this shop').count()).toBe(0)
    await expectAccessible(page)
  })

  it('the preview of an import shows a warning as such, also at a row with mistakes', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    await chooseFile(page, 'card,condition,language,price,quantity\nsv3-125,NM,EN,"0,20",many')
    const warning = page.getByText('price “0,20” was read as 0.20.')
    const mistake = page.getByText('The quantity field must be a number')
    const colourOf = (text: typeof warning) =>
      text.evaluate((shown) => shown.ownerDocument.defaultView!.getComputedStyle(shown).color)
    expect(await colourOf(warning)).not.toBe(await colourOf(mistake))
    await expectAccessible(page)
  })

  it('an import says so if no shipping option of the shop is enabled, because nobody can order then', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    await chooseFile(page, 'card,condition,language,price,quantity\nsv3-125,NM,EN,1,1')
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByText('1 row listed.').waitFor()
    await page.getByText('No shipping option of this account is enabled').waitFor()
  })

  it('an import leaves out the listings that were sold or hidden when they were exported, counts them, and warns that the others are listed a second time, also without the column of the status', async () => {
    const { seller, member } = await newShop(app)
    const ids = await list(seller, cardItem(), cardItem(), cardItem())
    await seller.patch(`/v1/listings/${ids[1]}`, { payload: { status: 'hidden' } })
    await seller.patch(`/v1/listings/${ids[2]}`, { payload: { quantity: 0 } })
    const { text } = await member.get('/dashboard/api/listings/export')
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    await chooseFile(page, text.replace(/,(status|active|sold|hidden)(,\w+\r\n)/g, '$2'))
    await page.getByText('2 rows can be listed').waitFor()
    await page.getByText('2 rows with an id would be listed again').waitFor()
    await page.getByRole('button', { name: 'Choose another file' }).click()
    const check = await holdRequests(page, '**/dashboard/api/listings/check')
    await chooseFile(page, text)
    await page.getByText('0 of 1', { exact: true }).waitFor()
    check.release()
    await page
      .getByText('1 row can be listed. 2 rows are left out, because the status is sold or hidden.')
      .waitFor()
    await page.getByText('1 row with an id would be listed again').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByText('1 row listed.').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(4)
  })

  it('an export with a session that has ended leads to the sign-in, and back to the listings', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, cardItem())
    const page = await app.open('/dashboard/listings', { member, expects: /status of 401/ })
    await page.getByRole('table', { name: 'Listings' }).waitFor()
    const file = await downloadBy(page, page.getByRole('link', { name: 'Export' }))
    expect(await readFile(await file.path(), 'utf8')).toContain('sv3-125')
    await endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1))
    await page.getByRole('link', { name: 'Export' }).click()
    await page.waitForURL('**/signin?next=%2Fdashboard%2Flistings')
  })

  it('an import lists rows of any valid size, and names the row, as a spreadsheet counts it, and the column of a value that is too long, also at its end', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const url = (i: number) =>
      `https://photos.example/${i}/`.padEnd(1_000, 'x') + '😀'.repeat(1_048)
    const urls = Array.from({ length: 10 }, (_, i) => url(i)).join(' ')
    const rows = [
      ...Array.from({ length: 100 }, () => `sv3-125,NM,EN,1,1,${urls},`),
      `sv3-125,NM,EN,1,1,,${'x'.repeat(5 * 1024 * 1024)}`,
    ]
    await chooseFile(
      page,
      ['card,condition,language,price,quantity,photo_urls,description', '', ...rows].join('\n'),
    )
    await page.getByText('100 rows can be listed').waitFor()
    const refused = page.getByRole('listitem').filter({
      hasText: /Row 103.*The description field must not be longer than 1000 characters./,
    })
    await refused.waitFor()
    await page.getByRole('button', { name: 'List 100 rows' }).click()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    await page.getByText('100 rows listed, 1 row failed.').waitFor()
    await refused.waitFor()
    await page.getByText('100 of 100').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(100)
  })

  /**
   * Opens the page Import in a tab, and holds the chunks of this and of another tab until `release` is called. The other tab
   * opens it when `openSecond` is called: it looks then whether there is an import.
   */
  const openTwoTabs = async (script?: string) => {
    const { seller, member } = await newShop(app)
    const { account } = (await member.get('/dashboard/api/me')).body.data
    const stored = `cardstall-import-${account.id}-${account.created_at}`
    const first = await app.open('/dashboard/listings/import', { member, script })
    const second = await first.context().newPage()
    const openSecond = () => second.goto(`${app.address}/dashboard/listings/import`)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let chunks = 0
    await first.context().route('**/dashboard/api/listings', async (route) => {
      if (route.request().method() === 'POST') {
        chunks++
        await released
      }
      await route.continue()
    })
    return { seller, stored, first, second, openSecond, release, chunks: () => chunks }
  }
  const startImport = async (page: Page, rows: number) => {
    await chooseFile(page, csvOf(rows))
    await page.getByRole('button', { name: /^List / }).click()
    await page.getByRole('progressbar', { name: 'Rows sent' }).waitFor()
  }
  /** Whether the browser has stored a pause. The code is a string, because the server's tests have no types of the DOM. */
  const isPaused = (page: Page, stored: string) =>
    page.evaluate<boolean>(`new Promise((resolve) => {
      indexedDB.open('${stored}').onsuccess = ({ target: { result: database } }) => {
        database.transaction('import').objectStore('import').getAll().onsuccess = ({ target }) => {
          database.close()
          resolve(target.result.some(({ isPaused }) => isPaused))
        }
      }
    })`)
  const totalOf = async (seller: Client) => (await seller.get('/v1/listings')).body.meta.total

  it('an import that is discarded in another tab ends, and does not change the progress of the next one', async () => {
    const { seller, first, second, openSecond, release } = await openTwoTabs()
    await startImport(first, 150)
    await openSecond()
    await second.getByRole('button', { name: 'Pause' }).click()
    await second.getByRole('button', { name: 'Discard the rest' }).click()
    await second.getByRole('dialog').getByRole('button', { name: 'Discard the rest' }).click()
    await startImport(second, 50)
    release()
    await first.getByRole('button', { name: 'Choose a file' }).waitFor()
    await second.getByText('50 rows listed.').waitFor()
    await second.reload()
    await second.getByText('50 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
  })

  it.each([
    ['with', 1, undefined],
    ['without', 2, 'delete Navigator.prototype.locks'],
  ])(
    'a pause in one tab stops an import in all tabs until one continues it, in a browser %s locks',
    async (locks, senders, script) => {
      const { seller, stored, first, second, openSecond, release, chunks } =
        await openTwoTabs(script)
      await startImport(first, 150)
      await openSecond()
      await second.getByRole('button', { name: 'Pause' }).waitFor()
      await expect.poll(chunks).toBe(senders)
      await second.getByRole('button', { name: 'Pause' }).click()
      await expect.poll(() => isPaused(second, stored)).toBe(true)
      if (locks === 'with') await second.getByRole('button', { name: 'Continue' }).waitFor()
      release()
      for (const page of [first, second]) {
        await page.getByRole('button', { name: 'Continue' }).waitFor()
      }
      await first.getByText('100 rows listed.').waitFor()
      await second.reload()
      await second.getByText('100 rows listed.').waitFor()
      expect(chunks()).toBe(senders)
      await second.getByRole('button', { name: 'Continue' }).click()
      await second.getByText('150 rows listed.').waitFor()
      expect(await totalOf(seller)).toBe(150)
    },
  )

  it('the rows that an import has not listed are offered as a file before they are discarded, with the reasons, and the preview of the same file says how many are listed', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /ERR_FAILED/ })
    const button = (name: string) => page.getByRole('button', { name })
    const dialog = page.getByRole('dialog')
    await button('Choose a file').waitFor()
    const rows = items(250).map(({ card, description }) => `${card},NM,EN,1,1,${description}`)
    const header = 'card,condition,language,price,quantity,description'
    await chooseFile(page, [header, 'nothing,NM,EN,1,1,wrong card', ...rows].join('\n'))
    let chunks = 0
    await page.route('**/dashboard/api/listings', async (route) => {
      if (++chunks < 2) return route.continue()
      await route.fetch()
      await button('Pause').click()
      await route.abort()
    })
    await button('List 250 rows').click()
    await button('Discard the rest').click()
    await dialog.getByText('151 rows').waitFor()
    await expectAccessible(page)
    const file = await downloadBy(page, dialog.getByRole('button', { name: 'Download the rows' }))
    const text = await readFile(await file.path(), 'utf8')
    expect(text.split('\r\n')).toEqual([
      `\ufeff${header},reason`,
      'nothing,NM,EN,1,1,wrong card,"There is no card ""nothing""."',
      ...rows.slice(100, 200).map((row) => `${row},${UNKNOWN}`),
      ...rows.slice(200).map((row) => `${row},Not sent.`),
      '',
    ])
    await dialog.getByRole('button', { name: 'Discard the rest' }).click()
    await page.unrouteAll()
    await chooseFile(page, text.replace(/^.*,Unknown: .*\r\n/gm, ''))
    await button('List 50 rows').click()
    await page.getByText('50 rows listed, 1 row failed.').waitFor()
    const listed = await app.ctx.db`
      select distinct description from listings where account_id = ${seller.accountId}
    `
    expect([listed.length, await totalOf(seller)]).toEqual([250, 250])
    await button('Import another file').click()
    await dialog.getByText('1 row').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await downloadBy(page, button('Download the failed rows'))
    await button('Import another file').click()
    await chooseFile(page, text.replace(/^.*,Unknown: .*\r\n/gm, ''))
    await page.getByText(/has imported this file already, .*: 50 rows were listed/).waitFor()
    await expectAccessible(page)
    await button('Choose another file').click()
    await chooseFile(page, csvOf(1))
    await button('List 1 row').waitFor()
    expect(await page.getByText('has imported this file already').count()).toBe(0)
  })

  it('a tab that is about to begin an import shows that of another tab instead, and its own preview after it', async () => {
    const { seller, stored, first, second, openSecond, release } = await openTwoTabs()
    await openSecond()
    await chooseFile(second, csvOf(1))
    const begin = second.getByRole('button', { name: 'List 1 row' })
    await begin.waitFor()
    // The browser answers in order: the page has looked for an import of another tab, which would hide the preview.
    await isPaused(second, stored)
    await startImport(first, 150)
    await begin.click()
    await second.getByText('0 of 150').waitFor()
    release()
    await first.getByText('150 rows listed.').waitFor()
    await second.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
    await second.getByRole('button', { name: 'Import another file' }).click()
    await second.getByRole('button', { name: 'List 1 row' }).waitFor()
  })

  it('only one of two tabs that begin an import at the same moment begins it, and the other one says so and keeps its preview', async () => {
    const { seller, stored, first, second, openSecond, release } = await openTwoTabs()
    await openSecond()
    // Both tabs wait for the database until `go` is called: each could look for an import before the other one stores its own.
    const held = await first.evaluateHandle<{ go: () => void }>(`new Promise((resolve) => {
      indexedDB.open('${stored}').onsuccess = ({ target: { result: database } }) => {
        const store = database.transaction('import', 'readwrite').objectStore('import')
        let isHeld = true
        const hold = () => {
          if (isHeld) store.get('file').onsuccess = hold
          else database.close()
        }
        hold()
        resolve({ go: () => { isHeld = false } })
      }
    })`)
    for (const tab of [first, second]) {
      await chooseFile(tab, csvOf(150))
      await tab.getByRole('button', { name: 'List 150 rows' }).click()
    }
    await held.evaluate((hold) => hold.go())
    for (const tab of [first, second]) await tab.getByText('0 of 150').waitFor()
    const refused = await Promise.all(
      [first, second].map((tab) => tab.getByText('Another import is not complete yet.').count()),
    )
    expect(refused.toSorted()).toEqual([0, 1])
    release()
    for (const tab of [first, second]) await tab.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
    const loser = [first, second][refused.indexOf(1)]!
    await loser.getByRole('button', { name: 'Import another file' }).click()
    await loser.getByRole('button', { name: 'List 150 rows' }).waitFor()
  })

  const LEAVE = 'Overview'
  const STOPPED = 'The import of stock.csv has stopped. Rows left: 150 of 150.'

  it('an import goes on after a reload of another page', async () => {
    const { seller, first, release, chunks } = await openTwoTabs()
    await startImport(first, 150)
    await first.getByRole('link', { name: LEAVE }).click()
    await first.reload()
    await first.getByRole('heading', { name: LEAVE }).waitFor()
    await expect.poll(chunks).toBe(2)
    release()
    await expect.poll(() => totalOf(seller)).toBe(150)
    expect(await first.getByText(/has stopped/).count()).toBe(0)
  })

  it('an import goes on when Back returns to its page from the memory of Safari, which has taken its lock', async () => {
    const { seller, stored, first, release, chunks } = await openTwoTabs()
    await startImport(first, 150)
    await expect.poll(chunks).toBe(1)
    await first.evaluate(`navigator.locks.request('${stored}', { steal: true }, () => {})`)
    release()
    await first.getByRole('heading', { name: 'The import is complete' }).waitFor()
    await first.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
    expect(chunks()).toBe(2)
  })

  it('an import that was interrupted for more than 15 minutes says so on every page, and lists the rest only if the seller continues it', async () => {
    const { seller, first, release } = await openTwoTabs()
    await startImport(first, 150)
    await first.clock.setFixedTime(Date.now() + 16 * 60_000)
    await first.getByRole('link', { name: LEAVE }).click()
    await first.reload()
    await first.getByText(STOPPED).waitFor()
    await first.getByRole('heading', { name: LEAVE }).waitFor()
    await expectAccessible(first)
    release()
    await first.getByRole('link', { name: 'Open the import' }).click()
    await first.getByText(/It began on .* 150 rows left/).waitFor()
    expect(await first.getByText(STOPPED).count()).toBe(0)
    await expectAccessible(first)
    expect(await totalOf(seller)).toBe(0)
    await first.getByRole('button', { name: 'Continue' }).click()
    await first.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
  })

  it('an import whose computer sleeps for more than 15 minutes lists the rest only if the seller continues it', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member })
    const { ready, release } = await holdResponse(page, '**/dashboard/api/listings', {
      method: 'POST',
    })
    await startImport(page, 250)
    await ready
    await page.clock.setFixedTime(Date.now() + 16 * 60_000)
    release()
    await page.getByText('100 rows listed.').waitFor()
    await page.getByText(/It began on .* 150 rows left/).waitFor()
    expect(await totalOf(seller)).toBe(100)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('250 rows listed.').waitFor()
    await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
    await page.reload()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
  })

  it('a page whose import waits for a busy service reads nothing again before the service has answered', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 503/ })
    let refused = false
    await page.route('**/dashboard/api/listings', (route) => {
      if (refused || route.request().method() !== 'POST') return route.fallback()
      refused = true
      const error = { type: 'service_unavailable', message: 'The service is busy.' }
      return route.fulfill({ status: 503, json: { error } })
    })
    const reads: string[] = []
    page.on('request', (request) => {
      if (refused && request.method() === 'GET') reads.push(new URL(request.url()).pathname)
    })
    await startImport(page, 1)
    await page.getByText('Waiting 2 s for the service.').waitFor()
    await page.getByText('1 row listed.').waitFor()
    expect(reads).not.toContain('/dashboard/api/me')
  })

  it('a tab in which an import has stopped follows it when the seller returns from the tab that has continued it', async () => {
    const { seller, first, second, openSecond, release } = await openTwoTabs()
    await startImport(first, 150)
    const later = Date.now() + 16 * 60_000
    for (const page of [first, second]) await page.clock.setFixedTime(later)
    await first.getByRole('link', { name: LEAVE }).click()
    await first.reload()
    await first.getByText(STOPPED).waitFor()
    release()
    await openSecond()
    await second.getByRole('button', { name: 'Continue' }).click()
    await second.getByText('150 rows listed.').waitFor()
    await first.evaluate(`window.dispatchEvent(new Event('focus'))`)
    await first.getByText(STOPPED).waitFor({ state: 'detached' })
    await first.getByRole('link', { name: 'Listings' }).first().click()
    await first.getByRole('link', { name: 'Import', exact: true }).click()
    await first.getByRole('heading', { name: 'The import is complete' }).waitFor()
    expect(await totalOf(seller)).toBe(150)
  })

  it('an import that is refused while another page is open says so there', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 403/ })
    const { sent, release } = await holdRequests(page, '**/dashboard/api/listings', {
      method: 'POST',
    })
    await startImport(page, 150)
    await sent
    await page.getByRole('link', { name: LEAVE }).click()
    await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { payout_verified: false },
    })
    release()
    await page.getByText(STOPPED).waitFor()
    await page.getByRole('link', { name: 'Open the import' }).click()
    await page.getByText(/payout setup/).waitFor()
  })

  it('an import whose session has ended goes on after a sign-in in another tab', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 401/ })
    const { sent, release } = await holdRequests(page, '**/dashboard/api/listings', {
      method: 'POST',
    })
    await startImport(page, 150)
    await sent
    await page.context().clearCookies()
    release()
    await page.getByRole('button', { name: 'Continue' }).waitFor()
    const [name, value] = member.cookie.split('=') as [string, string]
    await page.context().addCookies([{ name, value, url: app.address }])
    // The seller comes back from the other tab, and the page reads again.
    await readAgain(page)
    await page.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
  })

  it('a row whose response was lost is not listed again when its idempotency key has expired', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /ERR_FAILED/ })
    await loseResponse(page, '**/dashboard/api/listings', () => expireKeys(app, page))
    await startImport(page, 1)
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    expect(await totalOf(seller)).toBe(1)
    await page.getByText('0 rows listed, 1 row failed.').waitFor()
  })

  it.each([409, 429])(
    'a chunk that was refused with %i is listed when the import continues a day later',
    async (status) => {
      const { member } = await newShop(app)
      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of (409|429)/,
      })
      const message = 'Not now.'
      await page.route('**/dashboard/api/listings', (route) =>
        route.fulfill({
          status,
          headers: { 'retry-after': '60' },
          json: { error: { type: 'refused', message } },
        }),
      )
      await startImport(page, 2)
      if (status === 429) {
        await page.getByText(/Waiting 60 s/).waitFor()
        await page.getByRole('button', { name: 'Pause' }).click()
      } else await page.getByText(message).waitFor()
      await page.unrouteAll()
      await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
      // Paused while its last rows are on their way.
      const [sent, paused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      await page.route('**/dashboard/api/listings', async (route) => {
        if (route.request().method() === 'POST') {
          sent.resolve()
          await paused.promise
        }
        await route.continue()
      })
      const goesOn = page.getByText(/^It goes on while you use other pages/)
      await goesOn.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Continue' }).click()
      await sent.promise
      expect(await goesOn.count()).toBe(1)
      await page.getByRole('button', { name: 'Pause' }).click()
      paused.resolve()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText('2 rows listed.', { exact: true }).waitFor()
    },
  )

  it('an import does not go on in the shop of another database that has the same id, as after a reset', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 409/ })
    await page.route('**/dashboard/api/listings', (route) =>
      route.fulfill({ status: 409, json: { error: { type: 'conflict', message: 'Not now.' } } }),
    )
    await startImport(page, 2)
    await page.getByText('Not now.').waitFor()
    await page.unrouteAll()
    await app.ctx.db`
      update accounts set created_at = created_at - interval '1 day' where id = ${seller.accountId}
    `
    await page.reload()
    await chooseFile(page, csvOf(1))
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByText('1 row listed.', { exact: true }).waitFor()
    expect(await totalOf(seller)).toBe(1)
  })

  it('an import waits for some seconds if a proxy limits it until a date', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 429/ })
    await page.route('**/dashboard/api/listings', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' },
        body: 'Too many requests',
      }),
    )
    await startImport(page, 1)
    await page.getByText(/Waiting 5 s/).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('1 row listed.', { exact: true }).waitFor()
  })

  it.each([
    ['a chunk that was refused', false, '2 rows listed.'],
    [
      'a chunk whose response was lost before it was refused',
      true,
      '0 rows listed, 2 rows failed.',
    ],
  ])(
    '%s is sent again a day later only if it cannot have been listed',
    async (_, isLost, result) => {
      const { seller, member } = await newShop(app)
      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of 403|ERR_FAILED/,
      })
      const verify = (payout_verified: boolean) =>
        app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
          payload: { payout_verified },
        })
      let creates = 0
      await page.route('**/dashboard/api/listings', async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        if (isLost && ++creates === 1) return route.abort()
        await verify(false)
        await route.continue()
      })
      await chooseFile(
        page,
        'card,condition,language,price,quantity\nsv3-125,NM,EN,1,1\nsv3-125,NM,EN,1,1',
      )
      await page.getByRole('button', { name: 'List 2 rows' }).click()
      await page.getByText(/payout setup/).waitFor()
      await page.unrouteAll()
      await verify(true)
      await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText(result, { exact: true }).waitFor()
    },
  )

  it('an import leaves the last fifth of the write limit to its member', async () => {
    const { member } = await newShop(app)
    const { rateLimit } = app.ctx.config
    const before = { write: rateLimit.write, time }
    onTestFinished(() => {
      rateLimit.write = before.write
      time = before.time
    })
    rateLimit.write = 10
    // The window ends more than a minute from now, by the clock of the page as well.
    time = (Math.ceil(Date.now() / 60_000) + 1) * 60_000 - 1000
    const page = await app.open('/dashboard/listings/import', { member, expects: /status of 429/ })
    // The preview is the first two writes.
    await startImport(page, 800)
    await page.getByText(/600 rows listed.*Waiting \d+ s/).waitFor()
    const payload = { on: false }
    const saved = async () =>
      (await member.put('/dashboard/api/settings/holiday', { payload })).status
    expect([await saved(), await saved(), await saved()]).toEqual([204, 204, 429])
  })

  it(
    'an import waits for the write limit, survives a lost response and a reload, lists each row once, and offers the failed rows',
    async () => {
      const { seller, member } = await newShop(app)
      const { rateLimit } = app.ctx.config
      const { write } = rateLimit
      onTestFinished(() => {
        rateLimit.write = write
      })
      rateLimit.write = WRITES
      nextMinute()
      const rows = items(450).map(({ card, description }) => [
        card,
        'NM',
        'EN',
        '4,50',
        '1',
        description,
      ])
      rows.splice(3, 0, ['nothing', 'NM', 'EN', '4.50', '1', 'wrong card'])
      rows.push(['sv3-125', 'NM', 'EN', 'four', '1', 'wrong price'])
      const text = `\ufeffCard;Condition;Lang;Price;Qty;Notes\r\n${rows.map((row) => row.join(';')).join('\r\n')}`

      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of 429|ERR_FAILED/,
      })
      await page.getByRole('button', { name: 'Choose a file' }).waitFor()
      await chooseFile(page, text)
      await page.getByText('450 rows can be listed').waitFor()
      await page.getByText('There is no card "nothing".').waitFor()
      await page.getByText('The price field must be a number: “four”.').waitFor()
      await expectAccessible(page)

      // The service lists the second chunk, but its response never arrives.
      let creates = 0
      let lost: () => void = () => {}
      const responseLost = new Promise<void>((resolve) => {
        lost = resolve
      })
      await page.route('**/dashboard/api/listings', async (route) => {
        if (route.request().method() !== 'POST' || ++creates !== 2) return route.continue()
        await route.fetch()
        await route.abort()
        lost()
      })
      await page.getByRole('button', { name: 'List 450 rows' }).click()
      await responseLost
      await page.unrouteAll({ behavior: 'wait' })
      await page.reload()
      await page.getByText(/Waiting 1 s/).waitFor()
      await expectAccessible(page)
      nextMinute()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText('450 rows listed, 2 rows failed.').waitFor()

      const described = await app.ctx.db<{ description: string }[]>`
      select description from listings where account_id = ${seller.accountId}
    `
      expect(described.length).toBe(450)
      expect(new Set(described.map(({ description }) => description)).size).toBe(450)

      const button = page.getByRole('button', { name: 'Download the failed rows' })
      const file = await downloadBy(page, button)
      expect(await readFile(await file.path(), 'utf8')).toBe(
        `\ufeffCard;Condition;Lang;Price;Qty;Notes;reason\r
nothing;NM;EN;4.50;1;wrong card;"There is no card ""nothing""."\r
sv3-125;NM;EN;four;1;wrong price;The price field must be a number: “four”.\r
`,
      )
      await page.getByRole('button', { name: 'Import another file' }).click()
      await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    },
    TIMEOUT_MS,
  )
})
