import type { KeyObject } from 'node:crypto';
import type { Neighbour, Ticket } from '#shared/wire/neighbours.ts';

/** An image that is being written, and offered to the machines that write it too. */
export interface Share {
  /** This machine's id among them; empty until the conductor has sent it. */
  self(): string;
  readonly peers: Peers;
  /** Offers what there is; nothing is offered before. */
  offer(what: Pick<Offer, 'done' | 'find'>): void;
  /** Called when there is another neighbour, or one has reported its progress. @returns stops it */
  onChange(listener: () => void): () => void;
  /** The image is written: it is offered for a while still. */
  linger(): void;
  /** Nothing is offered any more. */
  end(): void;
}

/** The neighbours of one image, and what was seen of them. */
export interface Peers {
  /** Lists the members that may be asked now. */
  members(): readonly Member[];
  /** How many were named and have not answered yet. */
  unheard(): number;
  /** The conductor names a neighbour. With another address or certificate than before it has begun again, and is a new one. */
  add(neighbour: Neighbour): void;
  /** A neighbour has shown its ticket, maybe an old one: a known one stays what it is. */
  meet(neighbour: Neighbour): void;
  /**
   * Asks a neighbour for a chunk.
   * @param takes is given what it sent; throws for what is not that chunk
   * @throws AppError `aborted` by the signal; what asking or `takes` throws: then it is not asked for a while, or never
   */
  ask(request: PeerQuestion): Promise<'sent' | 'not yet' | 'not here'>;
  /** Asks those from whom nothing was heard lately how far they are; never throws. */
  greet(): Promise<void>;
  /** Milliseconds that a chunk of a neighbour takes lately. */
  chunkMs(): number | undefined;
  close(): void;
}

export interface PeerQuestion {
  readonly member: string;
  readonly chunkId: string;
  /** Its number in the image. */
  readonly at: number;
  readonly maxBytes: number;
  readonly takes: (packed: Buffer) => Promise<void>;
  readonly serverMs: number | undefined;
  readonly signal: AbortSignal;
}

/** A machine that writes the same image, as far as this one knows it. */
export interface Member {
  readonly id: string;
  /** `seedOf` its id. */
  readonly seed: number;
  /** It has every chunk of the image before this one. */
  readonly done: number;
  /** Requests to it under way. */
  readonly busy: number;
  /** It sends in time, as far as it has been asked: one that has not yet is asked for one at a time. */
  readonly known: boolean;
  /**
   * It is late, or has failed and not made up for it: it is waited for half as long, and no chunk is left to it while the
   * server is idle.
   */
  readonly doubtful: boolean;
}

/** Chunks that a machine has to offer. */
export interface Offer {
  /** The ticket that it has itself: only the holders of another of the same group are served. */
  readonly group: () => string | undefined;
  readonly publicKey: () => KeyObject | undefined;
  readonly done: () => number;
  /** The chunk, packed by zstd, if it is here or comes in time. @throws the signal's reason */
  readonly find: (chunkId: string, waitMs: number, signal: AbortSignal) => Promise<Uint8Array | 'not yet' | undefined>;
  readonly meet: (ticket: Ticket) => void;
}
