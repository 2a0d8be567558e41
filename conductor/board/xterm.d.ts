// the package's own types bring a browser's, which would replace Node's in the whole program
declare module '@xterm/xterm/lib/xterm.mjs' {
  export class Terminal {
    constructor(options: Readonly<Record<string, unknown>>);
    readonly cols: number;
    readonly rows: number;
    open(parent: unknown): void;
    focus(): void;
    resize(columns: number, rows: number): void;
    write(data: Uint8Array | string, onWritten?: () => void): void;
    onData(listener: (text: string) => void): void;
    onBinary(listener: (bytes: string) => void): void;
    attachCustomKeyEventHandler(handler: (event: { key: string; ctrlKey: boolean }) => boolean): void;
    dispose(): void;
  }
}
declare module '@xterm/xterm/css/xterm.css' {
  const css: string;
  // biome-ignore lint: esbuild gives a text so
  export default css;
}
