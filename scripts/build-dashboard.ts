import { dashboardBuild } from '../server/dashboard/build.ts'
import { createLog } from '../server/log.ts'

/** `npm run build`: builds the dashboard if its sources have changed since the last build. */
const build = dashboardBuild()
const { log, flush } = createLog('info', null)
await build.start(log).done
flush()
if ((await build.state()) !== 'ready') process.exitCode = 1
