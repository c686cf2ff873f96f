/**
 * Reads rows that PostgreSQL has joined to one text, as in `string_agg(record::text, '')`: `(1,NM,,"2 left")(2,…)`. The
 * client reads every value of every row on its own, which takes several times as long for a page.
 *
 * @returns the values of all rows, one row after the other; SQL's null is null
 */
export function valuesIn(records: string): (string | null)[] {
  const values: (string | null)[] = []
  // After the parenthesis of the first row.
  let at = 1
  while (at < records.length) {
    let end = at
    if (records.charCodeAt(at) === QUOTE) {
      // A quote inside of a quoted value is doubled.
      end = records.indexOf('"', at + 1)
      while (records.charCodeAt(end + 1) === QUOTE) end = records.indexOf('"', end + 2)
      const quoted = records.slice(at + 1, end)
      values.push(quoted.replaceAll('""', '"').replaceAll('\\\\', '\\'))
      end++
    } else {
      let code = records.charCodeAt(end)
      while (code !== COMMA && code !== END && end < records.length)
        code = records.charCodeAt(++end)
      values.push(end === at ? null : records.slice(at, end))
    }
    at = end + (records.charCodeAt(end) === COMMA ? 1 : 2)
  }
  return values
}

const QUOTE = 0x22
const COMMA = 0x2c
const END = 0x29
