import type { RequestListener } from 'node:http'

const ORIGIN = /^https?:\/\/[^/?#]+/i

/**
 * Makes the address of each request a path. HTTP allows `http://host/path` as well (RFC 9112, 3.2.2), which only the router
 * understands, and the router takes the first character of `*console` for a slash.
 */
export const withPaths =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    if (request.url && !request.url.startsWith('/')) {
      const path = request.url.replace(ORIGIN, '')
      request.url = path.startsWith('/') ? path : `/${path}`
    }
    return listener(request, response)
  }
