/** A shell behind a terminal of its own, as the console sees it. */
export interface Terminal {
  /** The shell's process id; it leads its session. */
  readonly pid: number;
  onOutput(listener: (bytes: Buffer) => void): void;
  /** The shell has ended and all that it wrote was told. */
  onExit(listener: (exitCode: number) => void): void;
  /** Input. `false`: the terminal hasn't taken it yet, `onDrain` tells when it has. */
  write(bytes: Buffer): boolean;
  onDrain(listener: () => void): void;
  resize(columns: number, rows: number): void;
  /** Output is left with the shell, which waits as soon as the kernel's buffer is full. */
  pause(): void;
  resume(): void;
  /** The line is cut: the shell and all that it has started in its session end. */
  hangUp(): void;
}

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  /** `$TERM` */
  readonly term: string;
}

/** @throws AppError `not_supported` where there can be no terminal */
export type OpenTerminal = (options: TerminalOptions) => Promise<Terminal>;
