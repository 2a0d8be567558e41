import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Status } from '#conductor/api/faults.ts';
import type { RoundMessage } from '#conductor/cluster/round.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import type { Remark } from '#conductor/model/remark.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';

type StatusMessage = Status['details']['messageList'][number];

export interface StatusParts {
  readonly status: Status['status'];
  readonly code: ContentfulStatusCode;
  readonly message: string;
  /** One word, for programs; default: that of the code, `NotFound`. */
  readonly reason?: string | undefined;
  readonly faults?: readonly SiteFault[] | undefined;
  /** What a teardown did and met. */
  readonly messages?: readonly RoundMessage[] | undefined;
  readonly remark?: Remark | undefined;
  /** A code of what lies below the failure: `NoKubernetesCluster`, `NothingBegun`, `TimeUp`. */
  readonly cause?: string | undefined;
  readonly revision?: number | undefined;
  /** The same request may succeed later. */
  readonly retry?: boolean | undefined;
}

const reasons: Readonly<Record<number, string>> = {
  200: 'Success',
  201: 'Success',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** A failure without messages of its own has one that repeats it: clients print the list. */
function statusObject(parts: StatusParts): Status {
  const { status, code, message, reason, faults = [], remark, cause, revision, retry } = parts;
  const reported = (parts.messages ?? []).map((each) => ({ kind: 'SimpleMessage', ...each }));
  const messages: StatusMessage[] = [...faults.map(validationMessage), ...reported];
  const isBare = status === 'Failure' && faults.length === 0 && !reported.some(({ error }) => error);
  const messageList: StatusMessage[] = isBare
    ? [...messages, { message, error: true, kind: 'SimpleMessage', summarized: true }]
    : messages;
  return {
    kind: 'Status',
    apiVersion: 'v1.0',
    metadata: {},
    status,
    message,
    reason: reason ?? reasons[code] ?? 'Error',
    details: {
      errorCount: messageList.filter(({ error }) => error).length,
      messageList,
      ...(remark === undefined ? {} : { remark }),
      ...(cause === undefined ? {} : { cause }),
      ...(revision === undefined ? {} : { revision }),
    },
    code,
    ...(retry === true ? { retry } : {}),
  };
}

/** Shipyard's ValidationMessage, with the place in the document as our own `path`. */
function validationMessage({ level, name, message, document, path }: SiteFault): StatusMessage {
  return {
    message,
    error: level === 'Error',
    kind: 'ValidationMessage',
    level,
    name,
    documents: document ? [document] : [],
    path: path ?? null,
  };
}

/** What of a node is torn down (seed 001), under Promenade's bare paths, among which Ironic has none of these names. */
const teardownPath =
  /^\/(?:v1\/nodes\/[^/]+\/(?:decommission|drain|clear-labels|restore-labels|remove-etcd|shutdown-kubelet|remove-from-cluster)|etcd-cluster-health-statuses)$/;

/** Airship's paths: their errors are Status objects, those of all others Ironic's. */
export function isAirshipPath(path: string): boolean {
  return path.startsWith('/api/') || teardownPath.test(path);
}

export function answerStatus(c: Context<ApiEnv>, parts: StatusParts): Response {
  return c.json(statusObject(parts), parts.code);
}
