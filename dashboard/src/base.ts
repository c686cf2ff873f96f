// In a variable, because Vite would otherwise look for a file with this name.
const module = import.meta.url

/** The address of the dashboard with a trailing slash: `/dashboard/`, or with the path prefix of a proxy before it. */
export const DASHBOARD = new URL('..', module).pathname

/** The address of the console with a trailing slash. */
export const CONSOLE = new URL('../../console/', module).pathname

/** The address of the service with a trailing slash. */
export const SERVICE = new URL('../..', module).pathname
