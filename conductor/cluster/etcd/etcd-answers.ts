import { z } from 'zod';

/** etcd's v3 as JSON (grpc-gateway, etcd 3.4 and later): 64-bit numbers are text, and what is zero or empty is left out. */

const id = z.string().regex(/^\d{1,20}$/);
const flag = z.boolean().default(false);
const texts = z.array(z.string()).default([]);

export const StatusAnswer = z.object({
  header: z.object({ cluster_id: id, member_id: id }),
  version: z.string().default(''),
  /** Absent = it knows of none. */
  leader: id.optional(),
  raftIndex: z.string().regex(/^\d+$/).default('0'),
  errors: texts,
  isLearner: flag,
});

export const MemberListAnswer = z.object({
  members: z.array(
    z.object({
      ID: id,
      /** Empty until it has been started for the first time. */
      name: z.string().default(''),
      peerURLs: texts,
      clientURLs: texts,
      isLearner: flag,
    }),
  ),
});

export const AlarmAnswer = z.object({
  alarms: z.array(z.object({ memberID: id.default('0'), alarm: z.string().default('NONE') })).default([]),
});

export const HealthAnswer = z.object({ health: z.enum(['true', 'false']), reason: z.string().optional() });

export const TokenAnswer = z.object({ token: z.string().min(1) });

/** Of calls that act: that it is no error says all. */
export const AnyAnswer = z.looseObject({});

export const ErrorAnswer = z.object({ error: z.string(), code: z.number().optional() });
