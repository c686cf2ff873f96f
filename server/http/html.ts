import { escapeHtml } from './page.ts'

/** HTML that is safe to insert into a page as it is. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Insertable = Html | Html[] | string | number | null | undefined | false

/** A template of HTML. Escapes inserted text, but not inserted HTML; null, undefined and false insert nothing. */
export function html(strings: TemplateStringsArray, ...values: Insertable[]): Html {
  let text = strings[0]!
  for (let i = 0; i < values.length; i++) text += inserted(values[i]) + strings[i + 1]!
  return new Html(text)
}

function inserted(value: Insertable): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(({ text }) => text).join('')
  return escapeHtml(String(value))
}
