import { isIP } from 'node:net'

/** Whether the hostname of a URL is this computer: localhost, 127.0.0.0/8 or [::1]. */
export const isLoopback = (hostname = ''): boolean =>
  hostname === 'localhost' ||
  hostname === '[::1]' ||
  (isIP(hostname) === 4 && hostname.startsWith('127.'))
