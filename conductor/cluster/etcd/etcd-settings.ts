import { z } from 'zod';

/** Settings of how etcd clusters are reached; part of the conductor's environment (`environment.ts`). */
export const etcdEnvironment = {
  BATON_ETCD_TLS_DIR: z
    .string()
    .default('/etc/baton/etcd')
    .describe('directory whose subdirectories (`tls` of an etcd cluster) have `ca.crt`, `client.crt` and `client.key`'),
} as const;
