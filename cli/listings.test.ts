import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { CUT_PRICE, guessMapping } from '../sdk/src/csv.ts'
import { importRecords } from '../server/test/catalog-fixture.ts'
import { startWebServer } from '../server/test/fakes/network.ts'
import { cardItem, createListings, items, list } from '../server/test/fixtures/listings.ts'
import { buy, openShop, PARCEL } from '../server/test/fixtures/orders.ts'
import { until } from '../server/test/until.ts'
import {
  app,
  CARD,
  csvOf,
  file,
  folder,
  forward,
  type Result,
  run,
  seller,
  start,
  startProxy,
  startShop,
  startSync,
  succeed,
  totalOf,
  url,
} from './test/packed.ts'

/** Moves the clock of a program by 25 hours after each request whose response is lost. */
const SLEEP_AFTER_A_LOST_RESPONSE = `data:text/javascript,${encodeURIComponent(`
  const { now } = Date
  let sleptMs = 0
  Date.now = () => now() + sleptMs
  const { fetch } = globalThis
  globalThis.fetch = (...request) =>
    fetch(...request).catch((error) => {
      sleptMs += 25 * 60 * 60 * 1000
      throw error
    })
`)}`

/** Refuses to create a directory that exists with the code that Windows has for the root of a drive. */
const REFUSE_EXISTING_DIRECTORIES = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  const { mkdir } = fs
  fs.mkdir = (...args) =>
    mkdir(...args).catch((error) => {
      if (error.code === 'EEXIST') error.code = 'EPERM'
      throw error
    })
  syncBuiltinESMExports()
`)}`

beforeAll(startShop)

describe('listings', () => {
  it('a dry run lists nothing, and shows invalid rows with their reasons', async () => {
    await writeFile(
      file('dry.csv'),
      `${csvOf(3)}\nnothing-9,NM,EN,1,1,B\n${CARD},NM,EN,free,1,C\n${CARD},NM,EN,-5,1,D\n`,
    )
    const before = await totalOf()
    const { code, stdout, stderr } = await run('listings import dry.csv --dry-run --failed bad.csv')
    expect([code, stdout]).toEqual([1, '6\t3\t3\n'])
    expect(stderr).toMatch(/row 5: .*card[\s\S]*row 6: The price field must be a number: “free”/)
    expect(stderr).toContain('row 7: The price field must be at least 0.01.')
    expect(await totalOf()).toBe(before)
    const failed = await readFile(file('bad.csv'), 'utf8')
    expect(failed).toMatch(/card,condition,language,price,quantity,shelf,reason\r\n/)
    expect(failed.trim().split('\r\n')).toHaveLength(4)
  })

  it('an import lists the valid rows and writes the others with their reasons to a file', async () => {
    await writeFile(
      file('stock.csv'),
      `\ufeff${csvOf(120).replaceAll(',', ';')}\n${CARD};XX;EN;1;1;B\n`,
    )
    const before = await totalOf()
    const { code, stdout } = await run('listings import stock.csv --yes --failed left.csv')
    expect([code, stdout]).toEqual([1, '121\t120\t1\n'])
    expect(await totalOf()).toBe(before + 120)
    expect(await readFile(file('left.csv'), 'utf8')).toMatch(/XX;EN;1;1;B;.*condition/)
  })

  it('an import without a file for the rows that failed names them, and says that the file would list the others again', async () => {
    const taken = { ...cardItem(), reference: 'taken' }
    await seller.post('/tools/v1/listings', { payload: { items: [taken] } })
    const rows = [`${CARD},XX,EN,1,1,`, `${CARD},NM,EN,1,1,`, `${CARD},NM,EN,1,1,taken`]
    const csv = ['card,condition,language,price,quantity,reference', ...rows].join('\n')
    await writeFile(file('partly.csv'), csv)
    const { code, stdout, stderr } = await run('listings import partly.csv --yes --quiet')
    expect([code, stdout]).toEqual([1, '3\t1\t2\n'])
    expect(stderr).toMatch(
      /^row 2: [^\n]*condition[^\n]*\nrow 4: [^\n]*reference[^\n]*\n2 rows failed\. Import only these again, in a file of their own: this file would list the others again, unless they have a reference\.\n$/,
    )
  })

  it('rows that fail for the same reason are named once each as far as ten, and the others together', async () => {
    const shop = await openShop(app, PARCEL)
    const env = { CARDSTALL_KEY: shop.key }
    const rows = Array.from({ length: 14 }, (_, i) => `${CARD},NM,EN,1,1,r${i}`)
    const csv = (conditions: string[]) =>
      ['card,condition,language,price,quantity,reference', ...conditions].join('\n')
    await writeFile(file('twice.csv'), csv(rows))
    await succeed('listings import twice.csv --yes', { env })
    const [first, ...others] = rows
    await writeFile(file('again.csv'), csv([first!, `${CARD},XX,EN,1,1,other`, ...others]))
    const { code, stdout, stderr } = await run('listings import again.csv --yes --quiet', { env })
    expect([code, stdout]).toEqual([1, '15\t0\t15\n'])
    const lines = stderr.trimEnd().split('\n')
    const message = lines[0]!.replace('row 2: ', '')
    expect(message).toContain('reference')
    expect(lines).toEqual([
      `row 2: ${message}`,
      expect.stringMatching(/^row 3: .*condition/),
      ...Array.from({ length: 9 }, (_, i) => `row ${i + 4}: ${message}`),
      `and 4 more rows (13 to 16): ${message}`,
      expect.stringMatching(/^15 rows failed/),
    ])
  })

  it('the file - is stdin of an import and of reprice, and stdout of an export', async () => {
    const shop = await openShop(app, PARCEL)
    const env = { CARDSTALL_KEY: shop.key }
    expect(await succeed('listings import - --yes', { env, input: csvOf(2) })).toBe('2\t2\t0\n')
    const exported = await succeed('listings export -', { env })
    expect(exported).toMatch(/^id,card,/)
    const repriced = exported.replace(',1.50,', ',1.75,')
    expect(await succeed('listings reprice - --yes', { env, input: repriced })).toBe('1\t0\n')
    const unanswered = await run('listings import -', { env, input: csvOf(1) })
    expect([unanswered.code, unanswered.stderr]).toEqual([2, expect.stringContaining('--yes')])
    const left = (await readdir(folder)).filter((name) => name.startsWith('-'))
    expect(left).toEqual([])
  })

  it('an import refuses more than 20 MB from stdin without waiting for its end', async () => {
    const { child, ended } = start(['listings', 'import', '-', '--yes'], { input: null })
    child.stdin.write(Buffer.alloc(21 * 1024 * 1024, 'x'))
    const { code, stderr } = await ended
    expect([code, stderr]).toEqual([2, 'The file is larger than 20 MB.\n'])
  })

  it('an import from stdin that was interrupted is continued with the same rows, and refused with others', async () => {
    const shop = await openShop(app, PARCEL)
    let requests = 0
    const address = await startProxy((request, response) => {
      if (request.url !== '/tools/v1/listings' || ++requests !== 2) return undefined
      return response.writeHead(409).end()
    })
    const given = { input: csvOf(150), env: { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address } }
    expect((await run('listings import - --yes', given)).code).toBe(1)
    const other = { ...given, input: csvOf(150).replace('1.50', '1.60') }
    expect((await run('listings import - --yes', other)).stderr).toContain('delete stdin.import')
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(100)
    const { stdout, stderr } = await run('listings import - --yes', given)
    expect([stdout, stderr]).toEqual(['150\t150\t0\n', 'Continuing after 100 of 150 rows.\n'])
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(150)
  })

  it.each(['listings import', 'listings reprice'])(
    '%s names a file that is missing or a directory in one sentence',
    async (command) => {
      for (const [path, message] of [
        ['.', '. is a directory.\n'],
        ['missing.csv', 'There is no file missing.csv.\n'],
        ['/dev/null/x', '/dev/null/x cannot be read: not a directory.\n'],
      ] as const) {
        const { code, stderr } = await run(`${command} ${path}`)
        expect([code, stderr]).toEqual([2, message])
      }
    },
  )

  it('an import refuses to replace its own file by the failed rows', async () => {
    const content = csvOf(2)
    await writeFile(file('own.csv'), content)
    for (const options of ['--dry-run', '--yes']) {
      const { code, stderr } = await run(`listings import own.csv ${options} --failed ./own.csv`)
      expect([code, stderr]).toEqual([2, expect.stringContaining('would replace own.csv')])
    }
    const { code, stderr } = await run('listings import own.csv --yes --failed -')
    expect([code, stderr]).toEqual([2, '--failed needs the name of a file.\n'])
    expect(await readFile(file('own.csv'), 'utf8')).toBe(content)
  })

  it('an import lists nothing if the file of the failed rows cannot be written, nothing twice if that fails later, and leaves no rows of a former import in it', async () => {
    const before = await totalOf()
    await writeFile(file('lost.csv'), `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`)
    const nowhere = await run('listings import lost.csv --yes --failed missing/left.csv')
    expect([nowhere.code, nowhere.stdout]).toEqual([1, ''])
    expect(nowhere.stderr).toMatch(/missing\/left.csv cannot be opened or written: [^\n]+\n$/)
    expect(await totalOf()).toBe(before)
    if (!existsSync('/dev/full')) return
    const full = await run('listings import lost.csv --yes --failed /dev/full')
    expect([full.code, full.stdout]).toEqual([1, ''])
    expect(full.stderr).toMatch(/The rows are listed, but \/dev\/full cannot be written \(ENOSPC\)/)
    expect(await totalOf()).toBe(before + 2)
    const again = await run('listings import lost.csv --yes --failed kept.csv')
    expect([again.code, again.stdout]).toEqual([1, '3\t2\t1\n'])
    expect(await totalOf()).toBe(before + 2)
    expect(await readFile(file('kept.csv'), 'utf8')).toMatch(/XX,EN,1,1,B,.*condition/)
    expect(existsSync(file('lost.csv.import'))).toBe(false)
    await writeFile(file('fine.csv'), csvOf(1))
    await succeed('listings import fine.csv --yes --failed none.left')
    expect(existsSync(file('none.left'))).toBe(false)
    await writeFile(file('fine-too.csv'), csvOf(1, '1.51'))
    await succeed('listings import fine-too.csv --yes --failed kept.csv')
    expect(await readFile(file('kept.csv'), 'utf8')).toMatch(/^\ufeffcard,[^\n]*,reason\r\n$/)
  })

  it.skipIf(!existsSync('/dev/full'))(
    'an interrupted import and a feed continue if the address is written in another way',
    async () => {
      const shop = await app.seller()
      const as = (address: string) => ({
        env: { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address, XDG_CONFIG_HOME: file('written') },
      })
      await startSync('sync --once', as(url))
      await writeFile(file('address.csv'), `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`)
      const full = await run('listings import address.csv --yes --failed /dev/full', as(url))
      expect(full.stderr).toContain('The rows are listed')
      const again = await run('listings import address.csv --yes', as(`${url}/v1/`))
      expect([again.code, again.stdout]).toEqual([1, '3\t2\t1\n'])
      expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
      const printed = await until('the changes can be read', () =>
        succeed('sync --once', as(`${url}/`)),
      )
      expect(printed.trim().split('\n')).toHaveLength(2)
    },
  )

  it.skipIf(!existsSync('/dev/full'))(
    'a file that was changed after an interrupted import, or whose progress is not readable, is not imported without a decision',
    async () => {
      const shop = await app.seller()
      const env = { CARDSTALL_KEY: shop.key }
      const rows = `${csvOf(2)}\n${CARD},XX,EN,1,1,B\n`
      await writeFile(file('edited.csv'), rows)
      await run('listings import edited.csv --yes --failed /dev/full', { env })
      await writeFile(file('edited.csv'), rows.replace('XX', 'NM'))
      const edited = await run('listings import edited.csv --yes', { env })
      expect([edited.code, edited.stdout]).toEqual([1, ''])
      expect(edited.stderr).toMatch(/^An import .* after 2 of 2 rows.* edited.csv.import [^\n]+\n$/)
      expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
      for (const broken of ['', '{"rows":', 'null', '[]']) {
        await writeFile(file('edited.csv.import'), broken)
        const { code, stdout, stderr } = await run('listings import edited.csv --yes', { env })
        expect([code, stdout]).toEqual([1, ''])
        expect(stderr).toMatch(/^edited.csv.import is not readable as the progress/)
        expect(await readFile(file('edited.csv.import'), 'utf8')).toBe(broken)
      }
      await rm(file('edited.csv.import'))
      expect(await succeed('listings import edited.csv --yes', { env })).toBe('3\t3\t0\n')
    },
  )

  it('an import that the service has refused lists all rows a day after the refusal', async () => {
    const shop = await app.seller({ account: { payoutVerified: false } })
    const env = { CARDSTALL_KEY: shop.key }
    await writeFile(file('early.csv'), csvOf(2))
    const refused = await run('listings import early.csv --yes', { env })
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('payout setup')])
    const journal = JSON.parse(await readFile(file('early.csv.import'), 'utf8'))
    if (journal.sentAt) journal.sentAt -= 24 * 60 * 60 * 1000
    await writeFile(file('early.csv.import'), JSON.stringify(journal))
    await app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, {
      payload: { payout_verified: true },
    })
    expect(await succeed('listings import early.csv --yes', { env })).toBe('2\t2\t0\n')
  })

  it.each([
    ['before they are listed', false],
    ['while it is interrupted', true],
  ])(
    'an import lists the cards that its check has found, if an import of the catalog gives their friendly ids to other cards %s',
    async (_, isInterrupted) => {
      const shop = await app.seller()
      const set = { type: 'set', id: 'moved', shortcut: 'mvd', name: 'Moved', series: 'Moved' }
      const importCards = (...numbers: string[]) =>
        importRecords(app.operator, [
          { ...set, language: 'EN', region: 'int' },
          ...numbers.map((number, i) => {
            const card = { type: 'card', id: `moved-${i + 1}`, set_id: 'moved', visible: true }
            return { ...card, name: `Moved ${i + 1}`, number }
          }),
        ])
      await importCards('1', '2', '3')
      const box = 'brilliant-stars-booster-box'
      const row = (card: string, product = '') => `${card},${product},EN,NM,EN,1,1`
      const rows = [row('mvd_1'), row('mvd_2'), row('', box), row('mvd_3')]
      const header = 'card,product,language_hint,condition,language,price,quantity'
      await writeFile(file('moved.csv'), [header, ...rows].join('\n'))
      let isLost = isInterrupted
      const address = await startProxy(async (request, response) => {
        if (request.url !== '/tools/v1/listings') return forward(request, response)
        await importCards('2', '1', '4')
        const hidden = { sets: {}, cards: { 'moved-3': false }, products: {} }
        await app.operator.put('/operator/v1/catalog/visibility', { payload: hidden })
        if (!isLost) return forward(request, response)
        response.destroy()
      })
      const command = 'listings import moved.csv --yes --failed moved-left.csv'
      const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
      let result = await run(command, { env })
      if (isInterrupted) {
        expect(result.stdout, result.stderr).toBe('')
        isLost = false
        result = await run(command, { env })
      }
      expect([result.code, result.stdout], result.stderr).toEqual([1, '4\t3\t1\n'])
      const { data } = (await shop.get('/v1/listings')).body
      const ids = data.map(({ listable }: { listable: { id: string } }) => listable.id)
      expect(ids).toEqual([box, 'moved-2', 'moved-1'])
      expect(await readFile(file('moved-left.csv'), 'utf8')).toContain('no card ""moved-3""')
    },
  )

  it('an interrupted import of a version whose file lacks the cards of the check is continued', async () => {
    const shop = await app.seller({ account: { payoutVerified: false } })
    const env = { CARDSTALL_KEY: shop.key }
    await writeFile(file('older.csv'), csvOf(2).replace(CARD, 'obf_125'))
    expect((await run('listings import older.csv --yes', { env })).code).toBe(1)
    const { cards, ...journal } = JSON.parse(await readFile(file('older.csv.import'), 'utf8'))
    expect(cards).toEqual(['sv3-125', CARD])
    await writeFile(file('older.csv.import'), JSON.stringify(journal))
    await app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, {
      payload: { payout_verified: true },
    })
    expect(await succeed('listings import older.csv --yes', { env })).toBe('2\t2\t0\n')
  })

  it('rows that the write limit has refused count as not sent, also if the import is interrupted while it waits', async () => {
    const shop = await app.seller()
    let isLimited = true
    let refusals = 0
    const address = await startProxy((request, response) => {
      if (!isLimited || request.url !== '/tools/v1/listings') return
      refusals++
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '60' })
      return response.end('{"error":{"type":"rate_limited","message":"Wait."}}')
    })
    const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    const readJournal = async () => JSON.parse(await readFile(file('waits.csv.import'), 'utf8'))
    await writeFile(file('waits.csv'), csvOf(2))
    const { child, ended } = start(['listings', 'import', 'waits.csv', '--yes'], { env })
    await until('the refusal is noted', async () => refusals > 0 && !(await readJournal()).sentAt)
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
    isLimited = false
    expect(await succeed('listings import waits.csv --yes', { env })).toBe('2\t2\t0\n')
  })

  it('rows whose response was lost before the computer slept for a day are not sent again, and count as failed', async () => {
    const shop = await app.seller()
    let sent = 0
    const address = await startProxy((request, response) => {
      if (request.url !== '/tools/v1/listings' || ++sent > 1) return
      return text(request)
        .then((body) => createListings(shop, JSON.parse(body).items))
        .then(() => response.destroy())
    })
    const env = {
      CARDSTALL_KEY: shop.key,
      CARDSTALL_URL: address,
      NODE_OPTIONS: `--import ${SLEEP_AFTER_A_LOST_RESPONSE}`,
    }
    await writeFile(file('slept.csv'), csvOf(2))
    const { code, stdout, stderr } = await run('listings import slept.csv --yes --json', { env })
    expect([code, sent], stderr).toEqual([1, 1])
    const messages = [expect.stringContaining('It may be listed already')]
    expect(JSON.parse(stdout)[0]).toMatchObject({
      created: 0,
      failures: [{ messages }, { messages }],
    })
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(2)
  })

  it('an import says so if no shipping option of the shop is enabled, because nobody can order then', async () => {
    const { key } = await app.seller()
    await writeFile(file('unshippable.csv'), csvOf(101))
    const options = { env: { CARDSTALL_KEY: key } }
    const { code, stderr } = await run('listings import unshippable.csv --yes', options)
    expect([code, stderr.match(/No shipping option/g)?.length]).toEqual([0, 1])
    const json = await run('listings import unshippable.csv --yes --json', options)
    expect(JSON.parse(json.stdout)).toMatchObject([
      { created: 101, warnings: [expect.stringContaining('No shipping option')] },
    ])
  })

  it('the JSON of an import has the row, the reference and the messages of each row that failed, or whose card is of another language', async () => {
    const rows = [
      `${CARD},XX,EN,1,1,taken`,
      ',NM,EN,1,1,',
      `${CARD},NM,EN,free,1,`,
      'swsh9-de-1,NM,EN,1,1,',
      'swsh9-de-1,NM,DE,1,1,',
      `${CARD},NM,ES,1,1,`,
    ]
    const csv = ['card,condition,language,price,quantity,reference', ...rows].join('\n')
    await writeFile(file('refused.csv'), csv)
    const failures = [
      { row: 2, reference: 'taken', messages: [expect.stringContaining('condition')] },
      { row: 3, reference: null, messages: [expect.stringMatching(/card.*product/)] },
      { row: 4, reference: null, messages: ['The price field must be a number: “free”.'] },
    ]
    const german =
      'The item is from a set in DE, but its language is EN: check which of them is right.'
    const row_warnings = [{ row: 5, reference: null, messages: [german] }]
    const dry = await run('listings import refused.csv --dry-run --json')
    expect([dry.code, JSON.parse(dry.stdout)]).toEqual([
      1,
      [{ rows: 6, left_out: 0, valid: 3, invalid: 3, failures, row_warnings }],
    ])
    const { code, stdout } = await run('listings import refused.csv --yes --json')
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      [{ rows: 6, left_out: 0, created: 3, failed: 3, failures, row_warnings }],
    ])
  })

  it('warnings about doubtful numbers of an import and of reprice are in the JSON, and on stderr with --quiet, and decimal commas are one note', async () => {
    const shop = await openShop(app, PARCEL)
    const env = { CARDSTALL_KEY: shop.key }
    const ids = await list(shop, ...items(16))
    const commas = Array<string>(12).fill('2,50;1')
    const rows = [...commas, '1.234,50;1', '1 234;1', '1 234;1', '1.234;1']
    const files = {
      'import doubtful.csv': ['card;condition;language;price;quantity']
        .concat(rows.map((row) => `${CARD};NM;EN;${row}`))
        .join('\n'),
      'reprice doubtful-prices.csv': ['id;price;quantity']
        .concat(rows.map((row, i) => `${ids[i]};${row}`))
        .join('\n'),
    }
    const messages = (text: string) => [
      `price “${text}” was read as 1234.${text.slice(6) || '0'}0.`,
    ]
    const row_warnings = ['1.234,5', '1 234', '1 234'].map((text, i) => ({
      row: 14 + i,
      reference: null,
      messages: messages(text),
    }))
    row_warnings[0]!.messages = ['price “1.234,50” was read as 1234.50.']
    const failed = 'row 17: The price field can mean two numbers: “1.234”. Write 1234 or 1.23.\n'
    for (const [command, text] of Object.entries(files)) {
      await writeFile(file(command.split(' ')[1]!), text)
      const { stderr } = await run(`listings ${command}`, { env })
      expect(stderr, command).toContain(
        '  row 14: price “1.234,50” was read as 1234.50.\n  rows 15 to 16: price “1 234” was read as 1234.00.\nprice “2,50” was read as 2.50, and 11 more rows in the same way.\n',
      )
      const quiet = await run(`listings ${command} --yes --quiet`, { env })
      expect(quiet.stderr, command).toMatch(
        /^ {2}row 14: [^\n]+\n {2}rows 15 to 16: [^\n]+\nrow 17: /,
      )
      expect(quiet.stderr).toContain(failed)
    }
    const json = await run('listings import doubtful.csv --yes --json', { env })
    expect(JSON.parse(json.stdout)).toMatchObject([{ created: 15, row_warnings }])
    expect(json.stderr).toContain(failed)
    const dry = await run('listings import doubtful.csv --dry-run --json', { env })
    expect(JSON.parse(dry.stdout)).toMatchObject([{ valid: 15, row_warnings }])
    for (const id of ids) await shop.patch(`/v1/listings/${id}`, { payload: { price: 1 } })
    const repriced = await run('listings reprice doubtful-prices.csv --yes --json', { env })
    expect(JSON.parse(repriced.stdout)).toEqual([{ changed: 15, failed: 1, row_warnings }])
  })

  it('the preview of an import has the messages about a row of the reader and of the service', async () => {
    await writeFile(
      file('both.csv'),
      'card;condition;language;price;quantity\nnope;NM;EN;1,234;1\n',
    )
    const { stdout } = await run('listings import both.csv --dry-run --json')
    const [{ failures }] = JSON.parse(stdout)
    expect(failures).toEqual([
      {
        row: 2,
        reference: null,
        messages: [
          'The price field can mean two numbers: “1,234”. Write 1234 or 1.23.',
          'There is no card "nope".',
        ],
      },
    ])
  })

  it('control characters of a file do not reach the terminal with the messages about its rows', async () => {
    const row = '"\u001b]0;owned\u0007\u009b2J\u202e",NM,EN,1,1'
    await writeFile(file('escapes.csv'), `card,condition,language,price,quantity\n${row}\n`)
    const { stderr } = await run('listings import escapes.csv --dry-run')
    expect(stderr).toContain('row 2: There is no card " ]0;owned 2J ".\n')
    expect(stderr).not.toMatch(/[\p{Cc}--\n]/v)
    const shown = await run(['cards', 'show', '\u001b[2Jx'])
    expect(shown.stderr).toMatch(/^There is no card " \[2Jx"\. \(request \w+\)\n$/)
  })

  it('joiners of emoji and of words stay in values that are printed', async () => {
    const shop = await openShop(app, PARCEL)
    const reference = '👨‍👩‍👧‍👦 می\u200cخواهم'
    const payload = { items: [{ ...cardItem(), reference }] }
    await shop.post('/tools/v1/listings', { payload })
    const listed = await succeed('listings list', { env: { CARDSTALL_KEY: shop.key } })
    expect(listed.trimEnd().split('\t').at(-1)).toBe(reference)
  })

  it('the preview of an import refuses a reference that an earlier row takes', async () => {
    const rows = ['XX', 'NM', 'NM', 'LP'].map((condition) => `${CARD},${condition},EN,1,1,twice`)
    const csv = ['card,condition,language,price,quantity,reference', ...rows].join('\n')
    await writeFile(file('twice.csv'), csv)
    const { stdout, stderr } = await run('listings import twice.csv --dry-run')
    expect(stdout).toBe('4\t1\t3\n')
    expect(stderr).toMatch(/row 4: Row 3 has the same reference “twice”[\s\S]*row 5: Row 3 has/)
    expect((await run('listings import twice.csv --yes')).stdout).toBe('4\t1\t3\n')
    const again = await run('listings import twice.csv --yes --json')
    expect(JSON.parse(again.stdout)[0]).toMatchObject({
      created: 0,
      failures: [2, 3, 4, 5].map((row) => ({ row, reference: 'twice' })),
    })
  })

  it('failed rows have the numbers that a spreadsheet shows, after empty rows and line breaks in quotes', async () => {
    const rows = [
      '',
      `${CARD},NM,EN,1,1,"two\n\nlines",again`,
      ',,,,,,',
      '',
      `${CARD},NM,EN,free,1,,`,
      `${CARD},NM,EN,1,1,,again`,
      `${CARD},NM,EN,"2,50",1,,other`,
    ]
    const header = 'card,condition,language,price,quantity,description,reference'
    await writeFile(file('gaps.csv'), [header, ...rows].join('\n'))
    const failed = [6, 7].map((row) => expect.objectContaining({ row }))
    const dry = await run('listings import gaps.csv --dry-run --json')
    expect(JSON.parse(dry.stdout)).toMatchObject([{ rows: 4, failures: failed }])
    const preview = (await run('listings import gaps.csv --dry-run')).stderr
    expect(preview).toMatch(/row 6: The price[\s\S]*row 7: Row 3 has the same reference/)
    expect(preview).toContain('\nprice “2,50” was read as 2.50.\n')
    const { stdout } = await run('listings import gaps.csv --yes --json --failed gaps-left.csv')
    expect(JSON.parse(stdout)).toMatchObject([{ created: 2, failures: failed }])
    expect(await readFile(file('gaps-left.csv'), 'utf8')).toContain('Row 3 has the same reference')

    await writeFile(file('gaps-prices.csv'), 'id,price\n\n"\n",\n1,free\n\n2,"2,50"\n999999,1\n')
    const { stderr } = await run('listings reprice gaps-prices.csv --yes')
    expect(stderr).toMatch(/row 4: The price[\s\S]*row 7: /)
  })

  it('rows of any valid size are imported, and a value that is too long fails with its row and column', async () => {
    // Four bytes for each character: a hundred such rows would not fit into a request.
    const url = (i: number) =>
      `https://photos.example/${i}/`.padEnd(1_000, 'x') + '😀'.repeat(1_048)
    const urls = Array.from({ length: 10 }, (_, i) => url(i)).join(' ')
    const row = (reference: string, photos = '', description = '') =>
      `${CARD},NM,EN,1,1,${reference},${photos},${description}`
    const rows = [
      ...Array.from({ length: 100 }, (_, i) => row(`large-${i}`, urls)),
      row('long', '', 'x'.repeat(6 * 1024 * 1024)),
    ]
    const header = 'card,condition,language,price,quantity,reference,photo_urls,description'
    await writeFile(file('large.csv'), [header, ...rows].join('\n'))
    const before = await totalOf()
    const { stdout, stderr } = await run('listings import large.csv --yes --json')
    expect(JSON.parse(stdout), stderr).toEqual([
      {
        rows: 101,
        left_out: 0,
        created: 100,
        failed: 1,
        failures: [
          {
            row: 102,
            reference: 'long',
            messages: ['The description field must not be longer than 1000 characters.'],
          },
        ],
        row_warnings: [],
      },
    ])
    expect(await totalOf()).toBe(before + 100)

    const prices = [
      'reference,price',
      'large-0,7.77',
      `${'x'.repeat(5 * 1024 * 1024)},1`,
      'large-1,8.88',
    ]
    await writeFile(file('large-prices.csv'), prices.join('\n'))
    const repriced = await run('listings reprice large-prices.csv --yes')
    expect([repriced.stdout, repriced.stderr]).toEqual([
      '2\t1\n',
      'row 3: The reference field must not be longer than 100 characters.\n1 row failed.\n',
    ])
  })

  it('the preview of an import names the columns that it reads under another name, and those that it ignores', async () => {
    const csv = `sku,stock,card,condition,language,Price,quantity,Foil,price,name,reason\n`
    await writeFile(file('columns.csv'), `${csv}A1,40,${CARD},NM,EN,2,1,reverse,1,x,y\n`)
    const args = ['listings', 'import', 'columns.csv', '--dry-run', '--map', 'price=price']
    const { stderr } = await start(args).ended
    expect(stderr).toBe(
      'Columns: reference from “sku”.\nIgnored columns: stock, Price, Foil.\n1 row: 1 can be listed, 0 cannot.\n1 listing, 1 unit, total value EUR 1.00.\n',
    )
  })

  it('columns with other names are mapped with --map', async () => {
    await writeFile(file('own.csv'), `Which,State,language,quantity,EUR\n${CARD},LP,EN,1,"2,50"\n`)
    const args = ['listings', 'import', 'own.csv', '--yes', '--json']
    const maps = ['Which=card', 'State=condition', 'EUR=price'].flatMap((map) => ['--map', map])
    const { code, stdout } = await start([...args, ...maps]).ended
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ rows: 1, left_out: 0, created: 1, failed: 0, failures: [], row_warnings: [] }],
    ])
    expect((await run('listings import own.csv --yes')).stderr).toContain('--map')
  })

  it('an import refuses a file that has a column twice, unless --map names one of them', async () => {
    const row = `${CARD},NM,EN,1,2.5,3.5`
    for (const name of ['price', 'Price']) {
      const header = `card,condition,language,quantity,price,${name}`
      await writeFile(file('prices-twice.csv'), `${header}\n${row}\n`)
      const args = ['listings', 'import', 'prices-twice.csv', '--dry-run']
      const refused = await start(args).ended
      expect([refused.code, refused.stderr]).toEqual([
        2,
        'The file has the column "price" twice.\n',
      ])
      const mapped = await start([...args, '--map', `${name}=price`]).ended
      expect(mapped.code, name).toBe(name === 'price' ? 2 : 0)
    }
  })

  it('an import that is killed midway and started again lists each row once', async () => {
    await writeFile(file('killed.csv'), csvOf(900, '3.33'))
    const before = await totalOf()
    const { child, ended } = start(['listings', 'import', 'killed.csv', '--yes'])
    await until('some rows are listed', async () => (await totalOf()) > before)
    child.kill('SIGKILL')
    await ended
    const { code, stdout, stderr } = await run('listings import killed.csv --yes')
    expect([code, stdout], stderr).toEqual([0, '900\t900\t0\n'])
    expect(await totalOf()).toBe(before + 900)
    expect((await stat(file('killed.csv.import')).catch(() => undefined)) === undefined).toBe(true)
  })

  it.each([
    ['import', '/tools/v1/listings/checks', '/tools/v1/listings'],
    ['reprice', '/tools/v1/listings?per_page=1', '/tools/v1/listings/changes'],
  ])(
    'two runs of %s that begin at the same moment send the rows of the file once',
    async (command, before, write) => {
      const shop = await app.seller()
      const [listing] = await list(shop, cardItem({ quantity: 1 }))
      const { promise: bothBegan, resolve: begin } = Promise.withResolvers<void>()
      let began = 0
      let sent = 0
      let ends: Promise<Result>[] = []
      const { port } = await startWebServer(async (request, response) => {
        if (request.url === before) {
          if (++began === 2) begin()
          await bothBegan
        }
        if (request.url === write && ++sent === 1) await Promise.race(ends)
        await forward(request, response)
      })
      const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: `http://127.0.0.1:${port}` }
      const args = ['listings', command, `both-${command}.csv`, '--yes']
      const rows = command === 'import' ? csvOf(2) : `id,quantity_delta\n${listing},1\n`
      await writeFile(file(`both-${command}.csv`), rows)
      ends = [start(args, { env }).ended, start(args, { env }).ended]
      const results = await Promise.all(ends)
      expect(results.map(({ code }) => code).sort()).toEqual([0, 1])
      expect(results.find(({ code }) => code === 1)?.stderr).toMatch(
        /this file has begun meanwhile: wait until it ends\. [^\n]+\n$/,
      )
      const { data, meta } = (await shop.get('/v1/listings')).body
      expect([meta.total, data.at(-1).quantity]).toEqual(command === 'import' ? [3, 1] : [1, 2])
    },
  )

  it('listings list --since skips no listing while another one changes', async () => {
    const shop = await app.seller()
    const ids = await list(shop, ...items(250))
    let isChanged = false
    const address = await startProxy((request, response) => {
      if (isChanged || !/[?&]page=2(&|$)/.test(request.url!)) return
      isChanged = true
      const changed = shop.patch(`/v1/listings/${ids[5]}`, { payload: { price: 9 } })
      return changed.then(() => forward(request, response))
    })
    const env = { CARDSTALL_URL: address, CARDSTALL_KEY: shop.key }
    const listedIds = async (limit: number) => {
      const text = await succeed(`listings list --since 1970-01-01 --limit ${limit} --json`, {
        env,
      })
      return JSON.parse(text).map(({ id }: { id: number }) => id)
    }
    // The changed one has moved to the end, which is read by then.
    const others = ids.filter((id) => id !== ids[5])
    expect(await listedIds(100_000)).toEqual(others)
    expect(isChanged).toBe(true)
    expect(await listedIds(100_000)).toEqual([...others, ids[5]])
    expect(await listedIds(120)).toEqual(others.slice(0, 120))
    expect(await listedIds(2)).toEqual(others.slice(0, 2))
  })

  it('an exported file can be imported, with its photos, and spreadsheets read it as UTF-8', async () => {
    const other = await app.seller()
    const env = { CARDSTALL_KEY: other.key }
    await list(
      other,
      cardItem({ price: 4, quantity: 3, description: 'a "quoted", text, très bien' }),
    )
    const photo = 'bU3mJ0Kc2rQe9XnYw1sZ5A'
    await app.ctx.db`update listings set photos = ${[photo]} where account_id = ${other.accountId}`
    await succeed('listings export out.csv', { env })
    const exported = await readFile(file('out.csv'), 'utf8')
    expect(exported).toMatch(/^\ufeffid,/)
    // The service accepts no photos at private addresses.
    await writeFile(
      file('out.csv'),
      exported.replace(`${url}/photos`, 'http://shop.example/photos'),
    )
    const { code, stderr } = await run('listings import out.csv --yes', { env })
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        'The file looks like an export of this shop: 1 row with an id would be listed again. To change listings, use the dashboard’s page Listings, or "cardstall listings reprice".\n',
      ),
    ])
    const { body } = await other.get('/v1/listings')
    const [copy, original] = body.data
    const { id, created_at, updated_at, photos, ...fields } = original
    expect(copy).toMatchObject(fields)
    const imported = await app.operator.get(`/operator/v1/listings/${copy.id}/photos`)
    expect(imported.body.data).toMatchObject([
      { photo_url: `http://shop.example/photos/${photo}.jpg` },
    ])
    const piped = await succeed('listings export', { env })
    expect(piped).toMatch(/^id,/)
    // The newest one, which an export has first, was deleted since.
    await other.delete(`/v1/listings/${copy.id}`)
    await writeFile(file('piped.csv'), piped.replace(`${url}/photos`, 'http://shop.example/photos'))
    const again = await run('listings import piped.csv --dry-run', { env })
    expect(again.stderr).toContain('2 rows with an id would be listed again')
    expect(piped).toContain('"a ""quoted"", text, très bien"')
  })

  it('an import of an exported file lists what was on sale, and leaves out sold and hidden rows', async () => {
    const [shop, other] = [await app.seller(), await openShop(app)]
    const [sold, hidden] = await list(shop, cardItem(), cardItem(), cardItem({ price: 8 }))
    await shop.patch(`/v1/listings/${sold}`, { payload: { quantity: 0 } })
    await shop.patch(`/v1/listings/${hidden}`, { payload: { status: 'hidden' } })
    await succeed('listings export shop.csv', { env: { CARDSTALL_KEY: shop.key } })
    const env = { CARDSTALL_KEY: other.key }
    const dry = await run('listings import shop.csv --dry-run --json', { env })
    expect([dry.code, JSON.parse(dry.stdout)]).toEqual([
      0,
      [{ rows: 3, left_out: 2, valid: 1, invalid: 0, failures: [], row_warnings: [] }],
    ])
    const { code, stdout, stderr } = await run('listings import shop.csv --yes', { env })
    expect([code, stdout, stderr]).toEqual([
      0,
      '3\t1\t0\n',
      '3 rows: 1 can be listed, 0 cannot, 2 left out (status sold or hidden).\n1 listing, 3 units, total value EUR 24.00.\n',
    ])
    const { data } = (await other.get('/v1/listings')).body
    expect(data).toMatchObject([{ price: 8, status: 'active' }])
  })

  it('an interrupted import of a version that left no rows out is not continued with them', async () => {
    const shop = await app.seller()
    const content = `card,condition,language,price,quantity,status\n${CARD},NM,EN,1,1,hidden\n`
    await writeFile(file('former.csv'), content)
    const mapping = guessMapping(content.split('\n')[0]!.split(','))
    const settings = JSON.stringify([mapping, `${url}/v1`, shop.accountId])
    const of = hash('sha256', hash('sha256', content) + hash('sha256', settings))
    const journal = { of, key: 'former', rows: [0], done: 0, failed: [], sentAt: Date.now() }
    await writeFile(file('former.csv.import'), JSON.stringify(journal))
    const env = { CARDSTALL_KEY: shop.key }
    const { code, stdout, stderr } = await run('listings import former.csv --yes', { env })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(
      'the version of cardstall have changed since: delete former.csv.import',
    )
    expect((await shop.get('/v1/listings')).body.meta.total).toBe(0)
  })

  it('an export of one status skips no listing while others get and lose this status', async () => {
    const shop = await app.seller()
    const ids = await list(shop, ...items(201))
    const change = (id: number, payload: object) => shop.patch(`/v1/listings/${id}`, { payload })
    await change(ids[20]!, { status: 'hidden' })
    let isChanged = false
    const address = await startProxy((request, response) => {
      if (isChanged || !/[?&]page=2(&|$)/.test(request.url!)) return
      isChanged = true
      // The newest listings come first: one of page 1 leaves, one of page 2 enters, and the total stays the same.
      const changed = change(ids[150]!, { quantity: 0 })
      return changed
        .then(() => change(ids[20]!, { status: 'active' }))
        .then(() => forward(request, response))
    })
    const env = { CARDSTALL_URL: address, CARDSTALL_KEY: shop.key }
    const csv = await succeed('listings export --status active', { env })
    expect(isChanged).toBe(true)
    const exported = [...csv.matchAll(/^\d+/gm)].map(Number)
    expect(exported).toEqual(ids.toReversed())
    await succeed('listings export sold.csv --status sold', { env })
    expect(await readFile(file('sold.csv'), 'utf8')).toMatch(
      new RegExp(`^\ufeffid,[^\n]+\n${ids[150]},[^\n]+\n$`),
    )
  })

  it('an export that the service refuses, also after some pages, leaves the former file', async () => {
    await writeFile(file('former.csv'), 'former')
    const env = { CARDSTALL_KEY: 'svc_live_unknown' }
    expect((await run('listings export former.csv', { env })).code).toBe(3)
    expect(await readFile(file('former.csv'), 'utf8')).toBe('former')

    const shop = await app.seller()
    await list(shop, ...items(101))
    const address = await startProxy((request, response) => {
      if (!/[?&]page=2(&|$)/.test(request.url!)) return
      response.writeHead(401, { 'content-type': 'application/json' })
      return response.end('{"error":{"type":"unauthenticated","message":"It is revoked."}}')
    })
    const revoked = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    expect((await run('listings export former.csv', { env: revoked })).code).toBe(3)
    expect(await readFile(file('former.csv'), 'utf8')).toBe('former')
  })

  it('reprice finds listings by id or reference, leaves their references, and reports the rows that fail', async () => {
    const [id] = await list(seller, cardItem())
    const { body } = await seller.post('/tools/v1/listings', {
      payload: { items: [{ ...cardItem(), reference: 'SHELF-1' }] },
    })
    const named = body.results[0].listing.id
    await writeFile(
      file('prices.csv'),
      `id,reference,price,quantity_delta\n${id},,9.99,\n,SHELF-1,"8,5",1.0\n999999,,1,\n`,
    )
    const { code, stdout, stderr } = await run('listings reprice prices.csv --yes')
    expect([code, stdout]).toEqual([1, '2\t1\n'])
    expect(stderr).toMatch(/row 4: /)
    // A spreadsheet may have changed the references of an export.
    await writeFile(file('mangled.csv'), `id,reference,price\n${named},1,8.6\n`)
    expect(await succeed('listings reprice mangled.csv --yes')).toBe('1\t0\n')
    await writeFile(file('back.csv'), `id,reference,price\n,SHELF-1,8.50\n`)
    expect(await succeed('listings reprice back.csv --yes')).toBe('1\t0\n')
    await writeFile(file('same.csv'), `id,price,quantity\n${id},9.99,\n${named},8.50,\n`)
    const same = await run('listings reprice same.csv --yes')
    expect([same.code, same.stdout, same.stderr]).toEqual([
      0,
      '0\t0\n',
      '2 rows would change nothing.\n',
    ])
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9.99)
    expect((await seller.get(`/tools/v1/listings/${named}`)).body.data.price).toBe(8.5)
  })

  it('reprice refuses a price that can mean two, sends the other rows, and shows decimal commas', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    const rows = [`${id},"1,234",`, `${other},"12,50",`, `${id},2,+5`, `${id},2,`]
    await writeFile(file('commas.csv'), ['id,price,quantity', ...rows].join('\n'))
    const { code, stdout, stderr } = await run('listings reprice commas.csv --yes')
    expect([code, stdout]).toEqual([1, '2\t2\n'])
    expect(stderr).toMatch(/^price “12,50” was read as 12\.50\.\n/)
    expect(stderr).toContain(
      'row 2: The price field can mean two numbers: “1,234”. Write 1234 or 1.23.\nrow 4: The quantity field must be a whole number from 0: “+5”.\n',
    )
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(2)
    expect((await seller.get(`/tools/v1/listings/${other}`)).body.data.price).toBe(12.5)
    await writeFile(file('none.csv'), `id,price\n${id},free\n`)
    const none = await run('listings reprice none.csv --yes')
    expect([none.code, none.stdout]).toEqual([1, '0\t1\n'])
    await writeFile(file('negative.csv'), `id,price\n${id},-5\n`)
    const negative = await run('listings reprice negative.csv --yes')
    expect([negative.code, negative.stdout]).toEqual([1, '0\t1\n'])
    expect(negative.stderr).toContain('row 2: The price field must be at least 0.01.')
  })

  it('a row with a decimal comma outside quotes, which has more values than columns, is neither imported nor repriced', async () => {
    const prices = ['12,50,3', '12,50,3,', '"12,50",3', '12,3']
    const rows = prices.map((values) => `${CARD},NM,EN,${values}`)
    const csv = ['card,condition,language,price,quantity', ...rows].join('\n')
    await writeFile(file('shifted.csv'), csv)
    const imported = await run('listings import shifted.csv --yes --failed shifted-left.csv')
    expect([imported.code, imported.stdout]).toEqual([1, '4\t2\t2\n'])
    expect(imported.stderr).toContain(`  row 5: ${CUT_PRICE}\n`)
    const again = await run('listings import shifted-left.csv --yes --failed shifted-again.csv')
    expect([again.code, again.stdout]).toEqual([1, '2\t0\t2\n'])
    expect(again.stderr).toContain('row 2: The row has more values than the header has columns')
    expect(await readFile(file('shifted-again.csv'), 'utf8')).toBe(
      await readFile(file('shifted-left.csv'), 'utf8'),
    )

    const [id, other] = await list(seller, cardItem({ price: 9 }), cardItem({ price: 9 }))
    const changes = [`${id},8,75,`, `${other},5,3`, `${other},6.5,1`]
    await writeFile(file('cents.csv'), ['id,price,quantity', ...changes].join('\n'))
    const { code, stdout, stderr } = await run('listings reprice cents.csv --yes')
    expect([code, stdout]).toEqual([1, '2\t1\n'])
    expect(stderr).toMatch(/^row 2: The row has more values than the header has columns/m)
    expect(stderr).toContain(
      `  row 3: ${CUT_PRICE}\n  row 4: An earlier row changes the same listing.\n`,
    )
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9)
  })

  it('reprice refuses a file without a column to change, and names the columns that it ignores', async () => {
    const [id] = await list(seller, cardItem())
    await writeFile(file('misspelt.csv'), `id,prise\n${id},5\n`)
    const { code, stderr } = await run('listings reprice misspelt.csv --yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('the columns are id, prise.')])
    await writeFile(file('further.csv'), `id,card,name,price,shelf\n${id},x,y,5,B\n`)
    const further = await run('listings reprice further.csv --yes')
    expect([further.code, further.stderr]).toEqual([0, 'Ignored columns: shelf.\n'])
  })

  it('reprice refuses a file that has a column twice', async () => {
    const [id] = await list(seller, cardItem({ price: 9 }))
    await writeFile(file('columns-twice.csv'), `id,price,name,Price\n${id},5,x,6\n`)
    const { code, stderr } = await run('listings reprice columns-twice.csv --yes')
    expect([code, stderr]).toEqual([2, 'The file has the column "price" twice.\n'])
    expect((await seller.get(`/tools/v1/listings/${id}`)).body.data.price).toBe(9)
  })

  it('rows of reprice that failed go to a file, and a file whose quantity_delta was applied is not recommended again', async () => {
    const [id, other] = await list(seller, cardItem({ quantity: 1 }), cardItem({ quantity: 1 }))
    await writeFile(file('delivery.csv'), `id,quantity_delta,shelf\n${id},+2,A\n${other},2 pcs,B\n`)
    const asked = await run('listings reprice delivery.csv')
    expect(asked.stderr).toMatch(
      /\n1 row cannot be read:\n {2}row 3: [^\n]*“2 pcs”\.\nChange 1 listing: /,
    )
    const own = await run('listings reprice delivery.csv --yes --failed ./delivery.csv')
    expect([own.code, own.stderr]).toEqual([
      2,
      expect.stringContaining('would replace delivery.csv'),
    ])
    const { code, stdout, stderr } = await run(
      'listings reprice delivery.csv --yes --failed delivery-left.csv',
    )
    expect([code, stdout]).toEqual([1, '1\t1\n'])
    expect(stderr).toMatch(
      /\n1 row failed: see delivery-left\.csv\. Run only those of these rows again that were not changed: delivery\.csv would apply its quantity_delta twice\.\n$/,
    )
    const left = await readFile(file('delivery-left.csv'), 'utf8')
    expect(left).toMatch(
      /^\ufeffid,quantity_delta,shelf,reason\r\n\d+,2 pcs,B,The quantity_delta [^\n]+\n$/,
    )
    await writeFile(file('delivery-left.csv'), left.replace('2 pcs', '+2'))
    const rest = await run('listings reprice delivery-left.csv --yes')
    expect([rest.code, rest.stderr]).toEqual([0, 'Ignored columns: shelf.\n'])
    for (const listing of [id, other]) {
      expect((await seller.get(`/tools/v1/listings/${listing}`)).body.data.quantity).toBe(3)
    }
  })

  it('a question names one row or listing in the singular', async () => {
    const [id] = await list(seller, cardItem())
    await writeFile(file('one.csv'), csvOf(1))
    expect((await run('listings import one.csv')).stderr).toContain('List 1 row:')
    await writeFile(file('one-price.csv'), `id,price\n${id},5\n`)
    expect((await run('listings reprice one-price.csv')).stderr).toContain('Change 1 listing:')
  })

  it('reprice asks about the listings that it would change, and counts the rows that name none', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    const rows = [`${id},,5`, `${id},,6`, `${other},,7`, '999998,,5', ',NOWHERE,5']
    await writeFile(file('unknown.csv'), ['id,reference,price', ...rows].join('\n'))
    const { code, stderr } = await run('listings reprice unknown.csv')
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^2 rows name no listing of the shop\.\n {2}row 3: An earlier row changes the same listing\.\nChange 2 listings: /,
      ),
    ])
    await writeFile(file('nowhere.csv'), 'id,price\n999998,5\n')
    const nowhere = await run('listings reprice nowhere.csv')
    expect([nowhere.code, nowhere.stdout]).toEqual([1, '0\t1\n'])
    expect(nowhere.stderr).toMatch(/^1 row names no listing of the shop\.\nrow 2: /)
  })

  it('several listings are deleted after a question, which --yes answers', async () => {
    const [first, second] = await list(seller, cardItem(), cardItem())
    expect((await run(`listings delete ${first} ${second}`)).code).toBe(2)
    await succeed(`listings delete ${first} ${second} --yes`)
    for (const id of [first, second]) {
      expect((await seller.get(`/tools/v1/listings/${id}`)).status).toBe(404)
    }
    const { code, stderr } = await run(`listings delete ${first} ${second} --yes`)
    const each = (id?: number) => `${id}: [^\\n]+ \\(request req_\\w+\\)\\n`
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^${each(first)}${each(second)}2 of 2 failed\\.\\n$`)),
    ])
  })

  it('reprice sends only the values that differ: a sale and a listing that is hidden before they are sent stay, also if it is continued later', async () => {
    const shop = await openShop(app, PARCEL)
    const item = cardItem({ price: 4, quantity: 3 })
    const [sold, hidden, stocked] = await list(shop, item, item, item)
    let isDown = true
    const address = await startProxy((request, response) => {
      if (!isDown || request.url !== '/tools/v1/listings/changes') return
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '0' })
      return response.end('{"error":{"type":"service_unavailable","message":"Later."}}')
    })
    const env = { CARDSTALL_KEY: shop.key, CARDSTALL_URL: address }
    const rows = [
      `${sold},5,3,,active`,
      `${hidden},5,3,,active`,
      `${sold},4,,,`,
      // The second row restores the stock from before the first one.
      `${stocked},5,2,,active`,
      `${stocked},5,3,,active`,
      `${hidden},,3,-1,`,
    ]
    await writeFile(
      file('only.csv'),
      ['id,price,quantity,quantity_delta,status', ...rows].join('\n'),
    )
    const down = await run('listings reprice only.csv --yes', { env })
    expect([down.code, down.stderr]).toEqual([1, expect.stringContaining('Later.')])
    const shipping = [{ account_id: shop.accountId, option: PARCEL.code }]
    await buy(app, [[sold!, 1]], { shipping })
    await shop.patch(`/v1/listings/${hidden}`, { payload: { status: 'hidden' } })
    isDown = false
    const { code, stdout, stderr } = await run('listings reprice only.csv --yes', { env })
    expect([code, stdout], stderr).toEqual([1, '5\t1\n'])
    expect(stderr).toMatch(/row 7: [^\n]*quantity_delta/)
    const { data } = (await shop.get('/v1/listings')).body
    expect(data.toReversed()).toMatchObject([
      { id: sold, price: 4, quantity: 2, status: 'active' },
      { id: hidden, price: 5, quantity: 3, status: 'hidden' },
      { id: stocked, price: 5, quantity: 3, status: 'active' },
    ])
  })

  it('reprice counts the hidden listings that it would show again, before its question', async () => {
    const [id, other] = await list(seller, cardItem(), cardItem())
    await seller.patch(`/v1/listings/${id}`, { payload: { status: 'hidden' } })
    const rows = [`${id},active`, `${id},active`, `${other},hidden`]
    await writeFile(file('shown.csv'), ['id,status', ...rows].join('\n'))
    const { stderr } = await run('listings reprice shown.csv')
    expect(stderr).toMatch(/\n1 listing would no longer be hidden\.\nChange 2 listings: /)
  })

  it('an import works in the root of a drive, which Windows refuses to create with another code than EEXIST', async () => {
    const env = { NODE_OPTIONS: `--import ${REFUSE_EXISTING_DIRECTORIES}` }
    await writeFile(file('drive.csv'), csvOf(2))
    expect(await succeed('listings import drive.csv --yes', { env })).toBe('2\t2\t0\n')
  })
})
