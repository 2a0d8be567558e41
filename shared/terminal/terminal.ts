/** A terminal line, whatever is at its other end. */
export interface Line {
  onOutput(listener: (bytes: Buffer) => void): void;
  /** Input. `false`: the line hasn't taken it yet, `onDrain` tells when it has. */
  write(bytes: Buffer): boolean;
  onDrain(listener: () => void): void;
  resize(columns: number, rows: number): void;
  /** Output is left at the other end, which waits as soon as what is between is full. */
  pause(): void;
  resume(): void;
  /** The line is cut: a program and all that it has started in its session end. */
  hangUp(): void;
}

/** A program behind a terminal of its own. */
export interface Terminal extends Line {
  /** The program's process id; it leads its session. */
  readonly pid: number;
  /** The program has ended and all that it wrote was told. */
  onExit(listener: (exitCode: number) => void): void;
}

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  /** `$TERM` */
  readonly term: string;
}

/** @throws AppError `not_supported` where there can be no terminal */
export type OpenTerminal = (options: TerminalOptions) => Promise<Terminal>;
