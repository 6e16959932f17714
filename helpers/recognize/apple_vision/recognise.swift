// Text in a picture by Apple's Vision framework (VNRecognizeTextRequest, macOS 13 or later).
//
//   ragdoc-vision --about                       {"protocol": 1, "engine": …, "languages": […]}
//   ragdoc-vision FILE FRAME ORIENTATION LANGUAGES
//                                               {"lines": [{"text", "confidence", "x", "y",
//                                                           "width", "height"}]}
//
// FRAME counts from 0, ORIENTATION is that of EXIF (1 to 8), LANGUAGES are separated by commas.
// Coordinates are shares of the picture, the origin at its top left. Build: build.sh.

import CoreGraphics
import Foundation
import ImageIO
import Vision

struct About: Encodable {
    let `protocol` = 1
    let engine: String
    let languages: [String]
}

struct Line: Encodable {
    let text: String
    let confidence: Float
    let x, y, width, height: CGFloat
}

struct Found: Encodable {
    let lines: [Line]
}

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(1)
}

func say<T: Encodable>(_ value: T) throws {
    FileHandle.standardOutput.write(try JSONEncoder().encode(value))
}

func request() -> VNRecognizeTextRequest {
    let wanted = VNRecognizeTextRequest()
    wanted.recognitionLevel = .accurate
    wanted.usesLanguageCorrection = true
    return wanted
}

func about() throws {
    let wanted = request()
    let languages = try wanted.supportedRecognitionLanguages()
    try say(About(engine: "Apple Vision \(wanted.revision)", languages: languages))
}

func recognise(_ words: [String]) throws {
    guard words.count == 4, let frame = Int(words[1]), let turned = UInt32(words[2]),
        let orientation = CGImagePropertyOrientation(rawValue: turned)
    else { fail("usage: ragdoc-vision FILE FRAME ORIENTATION LANGUAGES") }
    let url = URL(fileURLWithPath: words[0]) as CFURL
    guard let source = CGImageSourceCreateWithURL(url, nil),
        let picture = CGImageSourceCreateImageAtIndex(source, frame, nil)
    else { fail("no picture that can be read") }
    let wanted = request()
    wanted.recognitionLanguages = words[3].split(separator: ",").map(String.init)
    try VNImageRequestHandler(cgImage: picture, orientation: orientation).perform([wanted])
    let lines = (wanted.results ?? []).compactMap { found -> Line? in
        guard let best = found.topCandidates(1).first else { return nil }
        let box = found.boundingBox
        return Line(
            text: best.string, confidence: best.confidence, x: box.minX, y: 1 - box.maxY,
            width: box.width, height: box.height)
    }
    try say(Found(lines: lines))
}

do {
    let words = Array(CommandLine.arguments.dropFirst())
    if words == ["--about"] { try about() } else { try recognise(words) }
} catch {
    fail("\(error)")
}
