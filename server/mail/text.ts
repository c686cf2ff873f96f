import { eurosFromCents } from '../cents.ts'
import { oneLine } from './mail.ts'

/** The text of an e-mail: a greeting, and the paragraphs that are not empty. */
export const textFor = (reader: string, paragraphs: Paragraph[]): string =>
  [`Hello ${oneLine(reader)},`, ...paragraphs.filter(Boolean)].join('\n\n')

export type Paragraph = string | null | undefined | false

/** `12.50 EUR` */
export const euros = (cents: number): string => `${eurosFromCents(cents).toFixed(2)} EUR`
