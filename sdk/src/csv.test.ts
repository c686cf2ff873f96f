import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import openapi from '../../openapi/tools.json' with { type: 'json' }
import {
  byRisk,
  CsvError,
  CUT_PRICE,
  FIELDS,
  type Field,
  failedCsv,
  guessMapping,
  inBatches,
  MAX_ROWS,
  readCsv,
  readRow,
  repeatedFields,
  usualNote,
} from './csv.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => {
  const csv = readCsv(bytes(text))
  const mapping = guessMapping(csv.columns)
  return csv.rows.map(({ values }) => readRow(values, mapping, csv))
}

describe('reading CSV', () => {
  it.each([
    ['comma', ','],
    ['semicolon', ';'],
    ['tab', '\t'],
  ])('a file is read with the separator %s, with and without a byte order mark', (_, separator) => {
    const text = [
      ['card', 'price', 'quantity', 'description'],
      ['sv3-125', '4.5', '3', '"a ""b"" , ; c"'],
    ]
      .map((row) => row.join(separator))
      .join('\r\n')
    const item = { card: 'sv3-125', price: 4.5, quantity: 3, description: 'a "b" , ; c' }
    for (const bom of ['', '\ufeff']) expect(read(bom + text)).toMatchObject([{ item }])
  })

  it('an exported file gives the same values, for any texts', () => {
    const value = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => text.isWellFormed())
    const row = fc.array(value, { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const isBlank = (row: string[]) => row.every((value) => value.trim() === '')
        const failed = rows.map((row) => ({ row, reason: 'because' }))
        const { columns, rows: again } = readCsv(bytes(failedCsv(['a', 'b', 'c'], failed)))
        expect(columns).toEqual(['a', 'b', 'c', 'reason'])
        expect(again.map(({ values }) => values).filter((row) => !isBlank(row))).toEqual(
          rows.map((row) => [...row, 'because']),
        )
      }),
      { numRuns: 200 },
    )
  })

  it('a row that fails again has its new reason instead of the former one', () => {
    const first = failedCsv(['card'], [{ row: ['x'], reason: 'unknown' }])
    const { columns, rows } = readCsv(bytes(first))
    const again = failedCsv(columns, [{ row: rows[0]!.values, reason: 'no price' }])
    expect(again).toBe('\ufeffcard,reason\r\nx,no price\r\n')
  })

  it.each(['sep=;', 'SEP=;', '"sep=;"'])(
    'the separator of a first line %s is used, and the line is not counted, as in a spreadsheet',
    (line) => {
      for (const bom of ['', '\ufeff']) {
        const { columns, rows, separator } = readCsv(bytes(`${bom}${line}\r\ncard;price,x\r\nx;1`))
        expect([columns, separator]).toEqual([['card', 'price,x'], ';'])
        expect(rows).toEqual([{ number: 2, values: ['x', '1'] }])
      }
    },
  )

  it.each([',', ';', '\t'])('failed rows have the separator of their file: %j', (separator) => {
    const text = [
      ['card', 'description'],
      ['x', '"a,b;c\td"'],
    ]
      .map((row) => row.join(separator))
      .join('\n')
    const { columns, rows, separator: found } = readCsv(bytes(text))
    const failed = failedCsv(columns, [{ row: rows[0]!.values, reason: 'because' }], found)
    expect(failed).toBe(
      `\ufeff${[['card', 'description', 'reason'], ['x', '"a,b;c\td"', 'because'], []]
        .map((row) => row.join(separator))
        .join('\r\n')}`,
    )
  })

  it('any mix of line ends, in quotes too, gives the same rows', () => {
    const value = fc.constantFrom('x', '4,5', 'a "b"', 'two\nlines', '\n', ' ')
    const row = fc.tuple(value, value, fc.constant('last'))
    const end = fc.constantFrom('\n', '\r\n', '\r')
    const rows = fc.array(row, { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(rows, fc.array(end, { minLength: 1 }), fc.constantFrom(',', ';'), (...given) => {
        const [rows, ends, separator] = given
        const quoted = (value: string) =>
          /[,;"\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
        let i = 0
        const text = [['a', 'b', 'c'], ...rows]
          .map((row) => `${row.map(quoted).join(separator)}\n`)
          .join('')
          .replaceAll('\n', () => ends[i++ % ends.length]!)
        expect(readCsv(bytes(text)).rows.map(({ values }) => values)).toEqual(rows)
      }),
      { numRuns: 500 },
    )
  })

  it('each row has its number in a spreadsheet: empty rows count, line breaks in quotes do not', () => {
    const text = '\n;\ncard;notes\n\na;"two\n\nlines"\n;\n\r\nb;x\r\r\n" ";\nc;\n\n'
    const { columns, rows } = readCsv(bytes(text))
    expect(columns).toEqual(['card', 'notes'])
    expect(rows.map(({ number, values }) => [number, values[0]])).toEqual([
      [5, 'a'],
      [8, 'b'],
      [11, 'c'],
    ])
  })

  it('the separator is found in a file with empty rows, also if values contain others', () => {
    const text = 'card;notes\n\na;1, 2, 3\n\n\nb;4, 5, 6\n'
    expect(readCsv(bytes(text)).rows.map(({ values }) => values)).toEqual([
      ['a', '1, 2, 3'],
      ['b', '4, 5, 6'],
    ])
  })

  const TOO_LONG = {
    row: [expect.stringContaining('more values than the header has columns')],
  }

  it.each([';', '\t'])(
    'a row with more values than the header has columns is refused, unless the further ones are empty and %j separates them',
    (separator) => {
      const text = 'card,price\nx,12,50\nx,"12,50"\nx,12, ,\nx,12,,5\n'
      const rows = read(text.replaceAll(/,(?!50")/g, separator))
      expect(rows.map(({ errors }) => errors)).toEqual([TOO_LONG, {}, {}, TOO_LONG])
      expect(rows.flatMap(({ warnings }) => warnings)).toEqual([])
    },
  )

  it.each([
    ['card,price,quantity,description', 'x,12,50,3,'],
    ['card,price,quantity,description,', 'x,12,50,3,,'],
    ['card,price,quantity,description,', 'x,12,50,3,nice'],
    ['card,price,quantity,description,reference', 'x,12,50,3,,'],
    ['card,price,quantity,,description', 'x,12,50,3'],
    ['id,price,quantity', '13,8,75,'],
    ['card,price,quantity,description', 'x,12,50 €,3,'],
  ])(
    'a decimal comma outside quotes that makes values beyond the named columns is refused, also if these are empty: %s, %s',
    (header, row) => {
      expect(read(`${header}\n${row}\n`)).toMatchObject([{ errors: TOO_LONG }])
    },
  )

  it('a file whose header and rows are filled with commas to the same width is read without messages', () => {
    const rows = ['card,price,quantity,,', 'x,12,1,,', 'x,12.5,10,,', 'x,12', ',,,,']
    for (const { errors, warnings } of read(rows.join('\n'))) {
      expect([errors, warnings]).toEqual([{}, []])
    }
  })

  it('a value under a column without a name is read if the column has a field, and ignored in the first column', () => {
    const csv = readCsv(bytes(',card,price,\n0,x,12.5,nice\n'))
    const guess = guessMapping(csv.columns)
    const [{ values } = { values: [] }] = csv.rows
    expect(readRow(values, guess, csv).errors).toEqual(TOO_LONG)
    const { item, errors } = readRow(values, { ...guess, description: 3 }, csv)
    expect([item, errors]).toEqual([{ card: 'x', price: 12.5, description: 'nice' }, {}])
    const further = readCsv(bytes('card,price\nx,12.5,nice\ny,3.5,\n'))
    const mapping = { ...guessMapping(further.columns), description: 2 }
    const read = further.rows.map(({ values }) => readRow(values, mapping, further).item)
    expect(read.map(({ description }) => description)).toEqual(['nice', undefined])
  })

  it('if a row has more values than the header, the other prices without decimals cause a warning', () => {
    const rows = ['x,12,50,3,', 'x,12,3,', 'x,"12,50",3,', 'x,12.50,3,', 'x,€ 8,3,', 'x,,3,']
    const cut = read(['card,price,quantity,description', ...rows].join('\n'))
    expect(cut.map(({ warnings }) => warnings.includes(CUT_PRICE))).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
    ])
  })

  it.each([
    ['card,price,quantity,description', 'x,12,50,3', true],
    ['card,price,quantity,description', 'x,12,5,3', true],
    ['card,price,quantity,description', 'x,1,234,3', true],
    ['card,price,quantity,description,photo_urls', 'x,12,50,3,', true],
    ['card,price,quantity,reference', 'x,12,50,3', true],
    ['card,quantity,price,description', 'x,3,12,50', true],
    ['card,price,quantity,description', 'x,12,50,3 scratches', false],
    ['card,price,quantity,description', 'x,12.50,50,3', false],
    ['card,price,quantity,reference', 'x,12,3,1001', false],
    ['card,price,quantity,description', 'x,12,50,', false],
    ['card,price,quantity', 'x,12,50', false],
    ['card;price;quantity;description', 'x;12;50;3', false],
  ])(
    'a row whose values would also fit to a price with a decimal comma causes a warning: %s, %s: %s',
    (header, row, warns) => {
      const [{ warnings, errors } = { warnings: [], errors: undefined }] = read(
        `${header}\n${row}\n`,
      )
      expect([warnings, errors]).toEqual([warns ? [CUT_PRICE] : [], {}])
    },
  )

  it.each(['x,12,50', 'x,12,'])(
    'the row %s with too many values keeps them among the failed rows, and is refused again until they are removed',
    (row) => {
      const { columns, rows } = readCsv(bytes(`card,price\n${row}\n`))
      const failed = failedCsv(columns, [{ row: rows[0]!.values, reason: 'because' }])
      expect(failed).toContain(`\r\n${row}`)
      expect(read(failed)).toMatchObject([{ errors: TOO_LONG }])
      expect(read(failed.replace(/12,[^,]+/, '12.5,'))).toMatchObject([
        { item: { price: 12.5 }, errors: {} },
      ])
    },
  )

  it('any bytes are read or refused with a CsvError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readCsv(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(CsvError)
        }
      }),
    )
  })

  it('a file that is too large, not UTF-8, empty, or with an open quotation mark is refused', () => {
    expect(() => readCsv(new Uint8Array(20 * 1024 * 1024 + 1))).toThrow('20 MB')
    expect(() => readCsv(bytes(`card\n${'x\n'.repeat(MAX_ROWS + 1)}`))).toThrow('100,000 rows')
    expect(readCsv(bytes(`card\n${'x\n'.repeat(MAX_ROWS)}`)).rows).toHaveLength(MAX_ROWS)
    expect(() => readCsv(new Uint8Array([0x63, 0xe9, 0x0a, 0x78]))).toThrow('UTF-8')
    expect(() => readCsv(bytes(''))).toThrow('no rows')
    expect(() => readCsv(bytes('card,price\n'))).toThrow('no rows')
    expect(() => readCsv(bytes('card,price\n"x,1\ny,2\n'))).toThrow('mark is not closed')
    expect(() => readCsv(bytes('card,price\ny,2\n"Grey" Hat,1\n'))).toThrow(
      'Text follows a closing quotation mark (near row 3)',
    )
  })

  it.each([
    ['little-endian with a byte order mark', '\ufeff', false],
    ['little-endian', '', false],
    ['big-endian with a byte order mark', '\ufeff', true],
    ['big-endian', '', true],
  ])(
    'a file in UTF-16 (%s) is refused with the advice to save it as UTF-8',
    (_, mark, isSwapped) => {
      const utf16 = Buffer.from(`${mark}card,price,quantity\nbase1-4,1,1\n`, 'utf16le')
      expect(() => readCsv(isSwapped ? utf16.swap16() : utf16)).toThrow(
        'The file is not UTF-8. In Excel, save it as “CSV UTF-8”.',
      )
    },
  )

  it('columns are found by their names in any case, by common other names, and in any order', () => {
    const mapping = guessMapping(['SKU', 'Qty', 'Card ID', 'Photo URLs', 'Price', 'x'])
    expect(mapping).toMatchObject({ reference: 0, quantity: 1, card: 2, photo_urls: 3, price: 4 })
    expect(mapping.product).toBeNull()
    expect(Object.keys(mapping)).toEqual([...FIELDS])
  })

  it('a column with the name of a field wins over an earlier one with another name for it', () => {
    const mapping = guessMapping(['stock', 'notes', 'Quantity', 'description', 'qty'])
    expect(mapping).toMatchObject({ quantity: 2, description: 3 })
  })

  it('a row whose status is not one of a listing is refused, unless the column is read as a field', () => {
    const fileOf = (name: string) =>
      ['', 'Active', 'sold', ' hidden ', 'draft', 'verkauft', 'Sold out']
        .map((status) => `sv3-125,${status}`)
        .toSpliced(0, 0, `card,${name}`)
        .join('\n')
    const refused = (name: string, field?: Field) => {
      const file = readCsv(bytes(fileOf(name)))
      const mapping = { ...guessMapping(file.columns), ...(field && { [field]: 1 }) }
      return file.rows.flatMap(({ values }) => readRow(values, mapping, file).errors.status ?? [])
    }
    expect(refused('Status')).toEqual(
      ['draft', 'verkauft', 'Sold out'].map(
        (status) =>
          `The status “${status}” is not active, sold or hidden. Rows that are sold or hidden are left out: empty the status to list the row.`,
      ),
    )
    expect([refused('State'), refused('status', 'description')]).toEqual([[], []])
  })

  it('values are read leniently where their meaning is clear', () => {
    const [row] = read(
      'card,condition,language,printing,grading_grade,photo_urls,quantity\nx, g ,en,Reverse Holo,9,http://a  http://b,2',
    )
    expect(row!.item).toEqual({
      card: 'x',
      condition: 'G',
      language: 'EN',
      printing: 'reverse_holo',
      grading_grade: '9.0',
      photo_urls: ['http://a', 'http://b'],
      quantity: 2,
    })
    expect(row!.warnings).toEqual([])
  })

  it('addresses of photos can also be separated by commas, semicolons or bars, with or without spaces, or end with one', () => {
    const [first, second, third, ...others] = read(
      [
        'photo_urls\tx',
        'https://a/1.jpg,https://a/2.jpg;HTTP://b/3.jpg|https://a/4.jpg\t',
        'https://a/1.jpg, https://a/2.jpg\t',
        'https://a/1.jpg | https://a/2.jpg;\t',
        'https://a/w_300,h_200/1;2.jpg?x=http://b\t',
      ].join('\n'),
    ).map(({ item }) => item.photo_urls)
    expect(first).toEqual([
      'https://a/1.jpg',
      'https://a/2.jpg',
      'HTTP://b/3.jpg',
      'https://a/4.jpg',
    ])
    expect(second).toEqual(['https://a/1.jpg', 'https://a/2.jpg'])
    expect(third).toEqual(second)
    expect(others).toEqual([['https://a/w_300,h_200/1;2.jpg?x=http://b']])
  })

  it('a grade that is ignored, because the card has another condition than G, causes a warning', () => {
    const header = 'card,product,condition,grading_company,grading_grade'
    const rows = [
      'x,,NM,psa,10',
      'x,,lp,,9.5',
      'x,,G,PSA,10',
      ',y,NM,PSA,10',
      'x,,NM,,',
      'x,,,PSA,9',
    ]
    expect(read([header, ...rows].join('\n')).map(({ warnings }) => warnings)).toEqual([
      ['PSA 10.0 is ignored, because the condition is NM: a graded card has the condition G.'],
      ['9.5 is ignored, because the condition is LP: a graded card has the condition G.'],
      [],
      [],
      [],
      [],
    ])
  })

  it.each([
    ['price', '12.3456789', '12.35'],
    ['price', '1 234', '1234.00'],
    ['price', '1,2345', '1.23'],
    ['quantity', '1.234.567', '1234567'],
  ])('the warning about the %s %s has the value that is listed: %s', (field, text, value) => {
    const [row] = read(`${field};card\n${text};x`)
    expect(row!.warnings).toEqual([`${field} “${text}” was read as ${value}.`])
  })

  it.each([
    ['4.5', 4.5],
    ['4.50', 4.5],
    ['-1', -1],
    ['4,50', 4.5, 'usual'],
    ['€ 4,50', 4.5, 'usual'],
    ['4,50 EUR', 4.5, 'usual'],
    ['12€', 12, 'usual'],
    ['-4,50', -4.5, 'usual'],
    ['12,-', 12, 'usual'],
    ['12.-', 12, 'usual'],
    ['1.234,50', 1234.5, 'doubtful'],
    ['1,234.50', 1234.5, 'doubtful'],
    ['1 234,50', 1234.5, 'doubtful'],
    ['1\u00a0234\u00a0567 €', 1234567, 'doubtful'],
    ['€ −1.234,50', -1234.5, 'doubtful'],
    ["1'234.50", 1234.5, 'doubtful'],
    ['1’234’567,50', 1234567.5, 'doubtful'],
    ['1.', 1, 'doubtful'],
    ['1,2345', 1.2345, 'doubtful'],
    ['0.125', 0.125, 'doubtful'],
    ['0,999 EUR', 0.999, 'doubtful'],
    ['1234.567', 1234.567, 'doubtful'],
    ['1,234,567', 1234567, 'doubtful'],
    ['1.234.567', 1234567, 'doubtful'],
    ['--1'],
    ['-'],
    ['€'],
    ['1e5'],
    ['1,23,4.5'],
    ['1.234.50'],
    ["1'234’567"],
    ["12'50"],
    ['1.234,567.89'],
    ['12 50'],
    ['12€50'],
    ['1EUR5'],
    ['1 2 3 4'],
    ['0 999'],
    ['1\u00a0234 567'],
    ['+2'],
    ['four'],
  ] as const)(
    'the price %j is read as %s, which is %s',
    (text, price?: number, reading?: string) => {
      const [row] = read(`price;card\n${text};x`)
      expect(row!.item.price).toBe(price)
      expect(Object.keys(row!.errors)).toEqual(price === undefined ? ['price'] : [])
      expect(row!.warnings.length).toBe(reading === 'doubtful' ? 1 : 0)
      expect(row!.note !== undefined).toBe(reading === 'usual')
    },
  )

  it.each([
    ['2'],
    ['2.0'],
    ['2,0'],
    ['3 4', false],
    ['9 99', false],
    ['2 €', false],
    ['2.000', false],
  ])('the quantity %s can be read: %s', (text, isRead = true) => {
    const [row] = read(`quantity;card\n${text};x`)
    expect([row!.item.quantity, Object.keys(row!.errors)]).toEqual(
      isRead ? [2, []] : [undefined, ['quantity']],
    )
  })

  it('one note counts the rows with a decimal comma or a euro sign', () => {
    const notes = (...prices: string[]) => usualNote(read(['price;card', ...prices].join('\n')))
    expect(notes('1.50;x', '1.234,50;x', '1,234;x')).toBeUndefined()
    expect(notes('1.50;x', '2,50;x')).toBe('price “2,50” was read as 2.50.')
    expect(notes('2,5;x', '€ 3;x', '4;x', '4,5;x')).toBe(
      'price “2,5” was read as 2.50, and 2 more rows in the same way.',
    )
  })

  it('rows come first whose price is in doubt, then those with doubtful numbers', () => {
    const rows = ['x,NM,2.5,1,10', 'x,,1.2345,1,', 'x,,2,1,', 'x,,2.5,1,', 'x,,1,50,,']
    const all = read(['card,condition,price,quantity,grading_grade', ...rows].join('\n'))
    const order = byRisk(all).map((row) => all.indexOf(row))
    expect(order).toEqual([2, 4, 1, 0, 3])
  })

  it.each([
    ['1,234', '1234 or 1.23'],
    ['1.234', '1234 or 1.23'],
    ['1.250', '1250 or 1.25'],
    ['€ 12,500', '12500 or 12.5'],
    ['10.005', '10005 or 10.01'],
  ])(
    'the price %s is refused, because its comma or point can separate thousands or cents',
    (text, both) => {
      const [row] = read(`price;card\n${text};x`)
      expect(row!.item.price).toBeUndefined()
      expect(row!.errors).toEqual({
        price: [`The price field can mean two numbers: “${text}”. Write ${both}.`],
      })
      expect(row!.warnings).toEqual([])
    },
  )

  it.each([
    [['price', 'card', 'Price'], ['price']],
    [['price', 'card', 'price_eur'], []],
    [
      ['qty', 'Qty', 'SKU', 'sku', 'notes', 'comments'],
      ['quantity', 'reference'],
    ],
    [['qty', 'Qty', 'quantity'], []],
  ])('a field has no column if several have the same name for it: %j', (columns, fields) => {
    expect(repeatedFields(columns)).toEqual(fields)
    const mapping = guessMapping(columns)
    expect(fields.filter((field) => mapping[field as Field] !== null)).toEqual([])
  })

  const { card, description, reference, photo_urls } =
    openapi.components.schemas.OwnCardListingItem.properties
  const { product } = openapi.components.schemas.OwnProductListingItem.properties

  it.each([
    ['card', card.maxLength],
    ['product', product.maxLength],
    ['description', description.maxLength],
    ['reference', reference.maxLength],
    ['photo_urls', photo_urls.items.maxLength],
  ] as const)(
    'the %s of a row may be as long as the service accepts, and no longer value is sent',
    (field, max) => {
      for (const character of ['x', '😀', 'é']) {
        const [fits] = read(`${field};price\n${character.repeat(max)};1`)
        expect(fits!.errors).toEqual({})
        expect([fits!.item[field]].flat()).toEqual([character.repeat(max)])
        for (const length of [max + 1, 100_000]) {
          const [{ item, errors } = { item: {} }] = read(
            `${field};price\n${character.repeat(length)};1`,
          )
          const name = field === 'photo_urls' ? 'photo_urls.0' : field
          expect(errors).toEqual({
            [field]: [`The ${name} field must not be longer than ${max} characters.`],
          })
          expect(JSON.stringify(item).length).toBeLessThan(1_000)
        }
      }
    },
  )

  it('a row can have as many photos as the service accepts', () => {
    const urls = Array.from({ length: photo_urls.maxItems }, (_, i) => `https://a/${i}`)
    const [fits, more] = read(`photo_urls\n${urls.join(' ')}\n${[...urls, 'https://b'].join(' ')}`)
    expect(fits).toMatchObject({ item: { photo_urls: urls }, errors: {} })
    const message = `The photo_urls field must not have more than ${photo_urls.maxItems} entries.`
    expect(more!.errors).toEqual({ photo_urls: [message] })
  })

  it.each(FIELDS)('a value of a million characters in the column %s is not sent', (field) => {
    // A search that begins again at each space would take many minutes.
    for (const value of ['1'.repeat(1_000_000), `1${' '.repeat(1_000_000)}1`]) {
      const [row] = read(`${field};x\n${value};1`)
      expect(JSON.stringify(row).length).toBeLessThan(1_000)
    }
  })
})

describe('batches', () => {
  it('rows are cut into batches that fit into a request, and into the same after an interruption', () => {
    const row = fc.record({
      character: fc.constantFrom('x', 'é', '€', '😀', '"', '\u0001'),
      length: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 100_000 })),
    })
    const itemOf = ({ character, length }: { character: string; length: number }) => ({
      text: character.repeat(length),
    })
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 100, size: 'max' }),
        fc.integer({ min: 1, max: 60 }),
        (rows, max) => {
          const batches = inBatches(rows, max, itemOf)
          expect(batches.flat()).toEqual(rows)
          for (const batch of batches) {
            expect(batch.length).toBeGreaterThan(0)
            expect(batch.length).toBeLessThanOrEqual(max)
            const body = JSON.stringify({ items: batch.map(itemOf) })
            expect(bytes(body).length).toBeLessThan(3.1 * 1024 * 1024)
          }
          for (const [i] of batches.entries()) {
            const rest = rows.slice(batches.slice(0, i).flat().length)
            expect(inBatches(rest, max, itemOf)).toEqual(batches.slice(i))
          }
        },
      ),
      { numRuns: 20 },
    )
  })

  it('small rows make batches of the highest number', () => {
    expect(inBatches([...Array(250).keys()], 100, (i) => i).map(({ length }) => length)).toEqual([
      100, 100, 50,
    ])
  })
})
