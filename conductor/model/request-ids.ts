/** Ids by which a request is followed from its client through logs and events into the work that it starts. */
export interface RequestIds {
  /** `req-` and a UUID, as the request's answer has it; `null` = no request, or of an older release. */
  readonly requestId: string | null;
  /** The id that the client has sent, as `X-OpenStack-Request-ID`, for all that it does together. */
  readonly globalRequestId: string | null;
}

/** Something that may come of a request. */
export type OfRequest = { readonly [Id in keyof RequestIds]?: RequestIds[Id] | undefined };

/** Takes the ids along to what is done because of it. Pure. */
export function requestIdsOf({ requestId, globalRequestId }: OfRequest): RequestIds {
  return { requestId: requestId ?? null, globalRequestId: globalRequestId ?? null };
}

/** Gives the fields of a log line; ids that there are not are left out. Pure. */
export function loggedIds({ requestId, globalRequestId }: OfRequest): Partial<Record<keyof RequestIds, string>> {
  return { ...(requestId ? { requestId } : {}), ...(globalRequestId ? { globalRequestId } : {}) };
}

/** Gives the fields of an answer or of an event, `null` where there is none. Pure. */
export function viewIds(of: OfRequest): {
  readonly request_id: string | null;
  readonly global_request_id: string | null;
} {
  const { requestId, globalRequestId } = requestIdsOf(of);
  return { request_id: requestId, global_request_id: globalRequestId };
}

const globalId = /^req-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Reads the id that a client has sent; what is no id, as Ironic's clients make them, is none. Pure. */
export function readGlobalId(header: string | undefined): string | null {
  return header !== undefined && globalId.test(header) ? header : null;
}
