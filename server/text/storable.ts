/** Whether PostgreSQL accepts the text: it refuses NUL, and UTF-8 has no lone surrogates. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
