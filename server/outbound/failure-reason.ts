/**
 * The reason for a failed request, as a sentence for the URL's owner. Messages of Node and undici are for programmers
 * and reveal addresses of the service's network.
 */
export function reasonFor({ code = '', name, message }: NodeJS.ErrnoException): string {
  if (name === 'PrivateAddressError' || name === 'UnfinishedResponseError') return message
  if (name === 'AbortError' || name === 'TimeoutError') return 'The server did not respond in time.'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'The host name could not be resolved.'
  if (code === 'ECONNREFUSED') return 'The server refused the connection.'
  if (/CERT|SIGNATURE/.test(code)) return 'The server’s certificate was not accepted.'
  if (/ERR_SSL|ERR_TLS|EPROTO/.test(code)) return 'No secure connection could be made.'
  return 'The connection failed before a response arrived.'
}
