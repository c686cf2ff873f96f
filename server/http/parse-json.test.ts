import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codePoint } from '../test/code-point.ts'
import { parseJson } from './parse-json.ts'

describe('parseJson', () => {
  it('an amount of many digits is on the same side of a cent as written, at any depth', () => {
    const text = '{"items":[{"price":1.00499999999999999},{"price":99999.990000000001}]}'
    const { items } = parseJson(text) as { items: { price: number }[] }
    expect(items[0]!.price).toBeLessThan(1.005)
    expect(items[1]!.price).toBeGreaterThan(99999.99)
  })

  it('an id and whole numbers are as JSON.parse reads them', () => {
    const text = '{"id":0.12345678901234567,"listing":9007199254740993,"__proto__":{"x":1.5}}'
    expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)))
  })

  it('texts and numbers of up to 15 digits are as JSON.parse reads them, next to long ones', () => {
    const number = fc.integer({ max: 999_999_999_999_999 }).map((number) => number / 1000)
    const text = fc.string({ unit: codePoint })
    fc.assert(
      fc.property(fc.array(fc.oneof(number, text), { maxLength: 8 }), (values) => {
        const body = JSON.stringify({ values, long: '1234567890.1234567890' })
        expect(parseJson(body)).toEqual(JSON.parse(body))
      }),
    )
  })
})
