import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { authorizationError } from '../../errors.ts'
import type { StaffRole } from '../../staff/staff.ts'

type Role = Exclude<StaffRole, 'admin'>

/** The roles that help buyers and sellers, or pay them. */
const READERS: Role[] = ['support', 'finance']

/**
 * The roles that may call each operation, by its `operationId`. An admin and the operator token may call all of them; an
 * operation without roles is for these alone.
 */
const PERMISSIONS: Record<string, Role[]> = {
  // Accounts, members, keys
  listAccounts: READERS,
  getAccount: READERS,
  createAccount: [],
  changeAccount: [],
  closeAccount: [],
  listMembers: ['support'],
  inviteMember: [],
  removeMember: [],
  listKeys: ['support'],
  createKey: [],
  rotateKey: [],
  revokeKey: [],

  // Orders
  getCheckout: READERS,
  listAllOrders: READERS,
  getAnyOrder: READERS,
  getSlice: READERS,
  listMails: ['support'],
  resendMail: ['support'],
  listShipments: READERS,
  createCheckout: [],
  createReservation: [],
  deleteReservation: [],
  cancelOrder: ['support'],
  refundOrder: ['support'],
  disputeOrder: ['support'],
  resolveDispute: ['support'],
  listDisputes: READERS,
  listReviews: READERS,
  addReview: [],
  changeReview: [],
  removeReview: ['support'],
  receiveOrder: [],
  reportTracking: [],

  // Money. The file contains bank accounts.
  listLedger: READERS,
  getLedgerBalance: READERS,
  getAccountStatement: READERS,
  listPayouts: READERS,
  getPayout: READERS,
  listPayoutSetups: READERS,
  runPayouts: ['finance'],
  listPayoutRuns: READERS,
  getPayoutFile: ['finance'],
  markRunPaid: ['finance'],
  releasePayout: ['finance'],
  markPayoutPaid: ['finance'],
  markPayoutFailed: ['finance'],
  verifyPayoutSetup: ['finance'],
  rejectPayoutSetup: ['finance'],

  // Catalog and listings
  importCatalog: ['catalog'],
  changeVisibility: ['catalog'],
  listPhotos: ['support', 'catalog'],
  listAllListings: ['support', 'catalog'],
  getAnyListing: ['support', 'catalog'],
  takeDownListing: [],

  // Webhooks
  listEndpoints: ['support'],
  listDeliveries: ['support'],
  followEvents: ['support'],
  deleteEndpoint: [],
  enableEndpoint: ['support'],
  resendDelivery: ['support'],
  resendDeliveries: ['support'],

  // Buyers
  eraseBuyer: [],
  exportBuyer: [],

  // Staff
  listAudit: ['support', 'finance'],
  getCaller: ['support', 'finance', 'catalog'],
  listStaff: [],
  addStaff: [],
  revokeStaff: [],

  // Sandbox
  readClock: ['support', 'finance', 'catalog'],
  // Its links sign in as a seller.
  listMail: [],
  advanceClock: [],
  steerCarrier: [],
  sendSampleEvent: [],
}

/** Whether a role may call an operation, by its `operationId`. */
export const mayCall = (role: StaffRole, operation: string): boolean =>
  operationsOf(role).includes(operation)

/** The operations that a role may call, by `operationId`, including those that only a sandbox has. */
export const operationsOf = (role: StaffRole): string[] =>
  Object.entries(PERMISSIONS)
    .filter(([, others]) => role === 'admin' || others.includes(role))
    .map(([operation]) => operation)

/**
 * An onRoute hook that lets only the roles of an operation call it. An operation without an entry in the table fails the
 * start, because it would be open to all staff.
 */
export function requireRole(route: RouteOptions): void {
  const { operationId, description } = (route.schema ?? {}) as {
    operationId?: string
    description?: string
  }
  const others = PERMISSIONS[operationId ?? '']
  if (!others) throw new Error(`${route.method} ${route.url} declares no roles in permissions.ts`)
  const allowed: StaffRole[] = ['admin', ...others]
  const needed = `${allowed.length === 1 ? 'the role' : 'one of the roles'} ${allowed.join(', ')}`
  const named = `Roles: ${allowed.map((role) => `\`${role}\``).join(', ')}.`
  route.schema = {
    ...route.schema,
    description: [description, named].filter(Boolean).join('\n\n'),
  } as typeof route.schema & object
  const check = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
    const { role } = request.operator
    if (allowed.includes(role)) done()
    else done(authorizationError(`This needs ${needed}; yours is ${role}.`))
  }
  route.onRequest = [route.onRequest ?? [], check].flat()
}
