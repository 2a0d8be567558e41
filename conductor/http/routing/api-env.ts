import type { Caller } from '#conductor/kernel/caller.ts';

/** Facts of one request that its handlers share. */
export interface ApiEnv {
  Variables: {
    /** Minor of the microversion in use. */
    version: number;
    /** `https://baton.example`; absent = as the client reached it. */
    apiUrl: string | undefined;
    requestId: string;
    /** The id that the client has sent; `null` = none, or none that is one. */
    globalRequestId: string | null;
    caller: Caller;
    /** Nothing was sent. */
    isEmpty: boolean;
    /** Bytes as they came, where they are not JSON (`read-body.ts`). */
    body: Buffer;
    /** It is JSON in which characters stand by their numbers. */
    hasEscapes: boolean;
  };
}
