/** Real time in Unix milliseconds, for rate limits and the log. */
export const realTime = () => Date.now()
