import express from "./sellers/express.txt?raw";
import python from "./sellers/python.txt?raw";

/** What the programs of a seller read from their environment. */
export interface SellerSettings {
  facilitator: string;
  network: string;
  asset: string;
  payTo: string;
}

export interface SellerProgram {
  id: string;
  label: string;
  description: string;
  file: string;
  program: string;
  /** Packages to install first; null where none are needed. */
  install: string | null;
  run: string;
  port: number;
}

/** The programs of docs/sell.md; a test compares them with it. */
export const SELLER_PROGRAMS: readonly [SellerProgram, ...SellerProgram[]] = [
  {
    id: "express",
    label: "Express",
    description: "It describes its route to the catalog: its first settled payment lists it there.",
    file: "seller.mjs",
    program: express,
    install:
      "npm init -y\n" +
      "npm install express@4.21.2 @x402/express@2.9.0 @x402/core@2.9.0 @x402/stellar@2.9.0 @x402/extensions@2.9.0 viem@2.57.1",
    run: "node seller.mjs",
    port: 4021,
  },
  {
    id: "python",
    label: "Python",
    description: "It needs the standard library of Python 3.9 or newer only.",
    file: "seller.py",
    program: python,
    install: null,
    run: "python3 seller.py",
    port: 4022,
  },
];

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The lines that set the environment of a program. */
export const writeSettings = ({ facilitator, network, asset, payTo }: SellerSettings): string =>
  [
    `export FACILITATOR_URL=${quote(facilitator)}`,
    "export FACILITATOR_KEY=   # a key with the scope facilitator, where the service asks for one",
    `export NETWORK=${quote(network)}`,
    `export ASSET=${quote(asset)}`,
    `export PAY_TO=${quote(payTo)}`,
  ].join("\n");
