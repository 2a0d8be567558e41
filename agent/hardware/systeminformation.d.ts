/** The parts of `systeminformation` that are used, without those for wireless cards, printers and containers. */
declare module 'systeminformation/lib/memory.js' {
  export const memLayout: typeof import('systeminformation').memLayout;
}

declare module 'systeminformation/lib/system.js' {
  export const baseboard: typeof import('systeminformation').baseboard;
  export const chassis: typeof import('systeminformation').chassis;
}
