/** A session at a BMC, as it is on record; its token is not. */
export interface BmcSession {
  /** Where the BMC is reached, `https://10.0.0.5`. */
  readonly origin: string;
  /** The session's own path there. */
  readonly path: string;
  readonly username: string;
}

/** The record of sessions at BMCs, by which others end those of a conductor that dies. No call of it throws. */
export interface SessionRecord {
  opened(session: BmcSession): Promise<void>;
  ended(session: BmcSession): Promise<void>;
  /** Nobody uses it any more, and it could not be ended. */
  left(session: BmcSession): Promise<void>;
}

/** Outcomes of a try to end what another has left: `unreached` = not from here, or not now. */
export type LeftSession = 'ended' | 'refused' | 'unreached';
