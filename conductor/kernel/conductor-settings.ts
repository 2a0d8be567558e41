import { z } from 'zod';

/** The environment variables of conductors that share a database. */
export const conductorEnvironment = {
  BATON_CONDUCTOR_GROUP: z
    .string()
    .regex(/^[\w.-]{0,255}$/, 'must be up to 255 letters, digits and - . _')
    .default('')
    .describe(
      "works only on nodes whose `conductor_group` is this, in small or capital letters; '' = on nodes without one",
    ),
  BATON_CONDUCTOR_HEARTBEAT_INTERVAL: z.coerce
    .number()
    .positive()
    .default(10)
    .describe("seconds between this conductor's signs of life in the database"),
  BATON_CONDUCTOR_TIMEOUT: z.coerce
    .number()
    .positive()
    .default(60)
    .describe(
      'seconds without a sign of life after which a conductor counts as dead though its session lives; the same for all',
    ),
  BATON_SHUTDOWN_DELAY: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe(
      'seconds for which a stopping conductor still answers while /readyz says no, for the load balancer to notice',
    ),
};

type Environment = {
  readonly [Name in keyof typeof conductorEnvironment]: z.infer<(typeof conductorEnvironment)[Name]>;
};

export type ConductorSettings = Readonly<ReturnType<typeof readConductorSettings>>;

export function readConductorSettings(env: Environment) {
  return {
    /** In small letters. */
    conductorGroup: env.BATON_CONDUCTOR_GROUP.toLowerCase(),
    conductorHeartbeatMs: env.BATON_CONDUCTOR_HEARTBEAT_INTERVAL * 1000,
    conductorTimeoutMs: env.BATON_CONDUCTOR_TIMEOUT * 1000,
    shutdownDelayMs: env.BATON_SHUTDOWN_DELAY * 1000,
  };
}

/** A conductor must not count as dead because one sign of life was late. */
export function conductorProblems(env: Environment): string[] {
  if (env.BATON_CONDUCTOR_TIMEOUT >= 2 * env.BATON_CONDUCTOR_HEARTBEAT_INTERVAL) return [];
  return [
    `BATON_CONDUCTOR_TIMEOUT: ${env.BATON_CONDUCTOR_TIMEOUT} must be at least twice ` +
      `BATON_CONDUCTOR_HEARTBEAT_INTERVAL, which is ${env.BATON_CONDUCTOR_HEARTBEAT_INTERVAL}`,
  ];
}
